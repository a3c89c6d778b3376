//! The survey for a terminal: a plugin of kubectl, and `cargo xtask survey`.

mod arguments;
mod show;

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;

use clap::Parser;
use consistent_pull_policy::validate::validate;
use consistent_pull_policy_survey::{COMMAND, Policy, Registries, Survey};

use self::arguments::{Arguments, Output};

/// The files of the folder examples: their names and texts.
const PRESETS: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/presets.rs"));

/// The exit status if the input or the arguments are wrong, as clap's.
const WRONG: u8 = 2;

/// This policy's crate.
struct Native;

impl Policy for Native {
    fn validate(&mut self, payload: &str, registries: &mut Registries) -> Result<Vec<u8>, String> {
        let answer = validate(payload.as_bytes(), &mut |image| registries.digest(image));
        answer.map_err(|error| error.to_string())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(is_found) => ExitCode::from(u8::from(is_found)),
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::from(WRONG)
        }
    }
}

/// Whether something of `--fail-on` is found.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let own = arguments.own_preset()?;
    let own = own.as_ref().map(|(name, text)| (&**name, &**text));
    let files = PRESETS.iter().copied().chain(own);
    let mut survey = Survey::new(files)?;
    let preset = arguments.preset(&survey)?;
    survey.ask(arguments.question()?);
    let is_shown = io::stderr().is_terminal();
    read(arguments, &mut survey, is_shown)?;
    while survey.work(&mut Native) {
        if is_shown && survey.rows().len() % 50 == 0 {
            eprint!(
                "\r{} of {} workloads ",
                survey.rows().len(),
                survey.workloads()
            );
        }
    }
    if is_shown {
        eprint!("\r\x1b[K");
    }
    // The chart has no file of one's own.
    let installed = preset.filter(|_| own.is_none());
    let command = installed.and_then(|index| survey.presets().get(index));
    let command = command.map(|preset| survey.command(&preset.name, &arguments.chart));
    let command = command.transpose()?;
    let text = match arguments.output {
        Output::Table => show::text(&survey, preset, command),
        Output::Csv => survey.csv(),
        Output::Json => show::json(&survey, command.as_deref())?,
    };
    match io::stdout().write_all(text.as_bytes()) {
        // It is no error if the reader closes the pipe early, as `head` does.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(arguments.is_found(&survey, preset)),
    }
}

/// Reads the files, or the standard input.
fn read(arguments: &Arguments, survey: &mut Survey, is_shown: bool) -> Result<(), String> {
    let mut inputs: Vec<(String, Box<dyn Read>)> = Vec::new();
    for path in &arguments.file {
        let name = format!("{}: ", path.display());
        let file = File::open(path).map_err(|error| format!("{name}{error}"))?;
        inputs.push((name, Box::new(file)));
    }
    if inputs.is_empty() {
        if io::stdin().is_terminal() {
            return Err(format!(
                "there is no input. Write: {COMMAND} | kubectl consistent-pull-policy"
            ));
        }
        inputs.push((String::new(), Box::new(io::stdin().lock())));
    }
    let mut piece = vec![0; 1 << 20];
    let mut length = 0;
    for (name, mut input) in inputs {
        loop {
            let read = input
                .read(&mut piece)
                .map_err(|error| format!("{name}{error}"))?;
            if read == 0 {
                break;
            }
            length += read;
            survey.read(&piece[..read]);
            if is_shown {
                eprint!("\r{} MB are read ", length >> 20);
            }
        }
        survey
            .end_file()
            .map_err(|error| format!("{name}{error}"))?;
    }
    survey.finish()
}
