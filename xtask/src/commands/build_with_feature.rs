//! Runs the commands that this program lacks, because it was compiled without their features. Cargo
//! compiles the program again with the feature of such a command, and runs the new program. `bench` also
//! needs another profile, because it measures times.

use std::env;
use std::io::IsTerminal;
use std::process::{self, Command};

use anyhow::{Context, Result};

use crate::workspace;

/// Each command that needs a feature, with Cargo's argument for the feature. A command that needs wasmtime
/// gets all features, as the tests do. For a different set of features, Cargo could compile wasmtime again.
const COMMANDS: [(&str, &str); 5] = [
    ("bench", "--all-features"),
    ("push", "--features=registry"),
    ("run", "--features=registry"),
    ("schema", "--features=policy"),
    ("soak", "--all-features"),
];

/// Adds the commands that `cli` lacks, so that its help lists them.
pub(crate) fn with_missing_commands(cli: clap::Command) -> clap::Command {
    COMMANDS.iter().fold(cli, |cli, (name, _)| {
        let is_there = cli.find_subcommand(name).is_some();
        let about = "Is compiled when it is first used";
        let missing = (!is_there).then(|| clap::Command::new(*name).about(about));
        cli.subcommands(missing)
    })
}

/// Cargo's argument for the feature of the command on the command line. `None` if there is no command,
/// if the command needs no feature, or if `cli` has the command.
pub(crate) fn missing_feature(cli: &clap::Command) -> Option<&'static str> {
    let asked = env::args().skip(1).find(|word| word != "help")?;
    let (name, feature) = COMMANDS.into_iter().find(|(name, _)| *name == asked)?;
    cli.find_subcommand(name).is_none().then_some(feature)
}

/// The profile of a program that measures times. It is optimised, as a policy-server is.
const OPTIMISED: &str = "bench-host";

/// Whether this program was compiled with the profile for measurements of times. Cargo's directory of a
/// profile has the name of the profile.
#[cfg(feature = "wasmtime")]
pub(crate) fn is_optimised() -> bool {
    let program = env::current_exe().unwrap_or_default();
    program
        .parent()
        .is_some_and(|directory| directory.ends_with(OPTIMISED))
}

/// The profile for the command on the command line. `bench` measures times, unless it only checks the
/// budgets or prints its help.
fn profile() -> &'static str {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let measures_no_time = |word: &String| ["--check", "--help", "-h"].contains(&word.as_str());
    match arguments.split_first() {
        Some((command, rest)) if command == "bench" && !rest.iter().any(measures_no_time) => {
            OPTIMISED
        }
        _ => "xtask",
    }
}

/// Compiles this program with a feature, and runs it with the same arguments.
///
/// # Errors
/// When Cargo can't be run. When Cargo or the command fails, this process ends with Cargo's exit code.
pub(crate) fn run(feature: &str) -> Result<()> {
    if std::io::stderr().is_terminal() {
        eprintln!("==> compiling this command; the first time takes minutes");
    }
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--locked", "--package=xtask"])
        .args(["--profile", profile(), feature, "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--")
        .args(env::args_os().skip(1))
        .status()
        .context("cannot run cargo")?;
    if status.success() {
        return Ok(());
    }
    process::exit(status.code().unwrap_or(1))
}
