//! The survey for a page: a WebAssembly module that JavaScript calls.
//!
//! JavaScript writes into the buffer that [`room`] returns, and calls a function. Its result is in
//! the buffer that [`output`] returns, with the length that the function returned. The module
//! imports one function: `validate`, with the address and the length of a payload for this policy's
//! module. JavaScript answers the payload with an instance of that module, and writes the answer
//! into [`room`]. The instance's lookups are answered by [`digest`].

use std::cell::RefCell;
use std::mem::take;

use consistent_pull_policy_survey::{
    Policy, Question, Registries, Survey, answer_during, from_yaml, to_yaml,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

thread_local! {
    static INPUT: RefCell<Vec<u8>> = RefCell::default();
    static OUTPUT: RefCell<Vec<u8>> = RefCell::default();
    static REGISTRIES: RefCell<Registries> = RefCell::default();
    static SURVEY: RefCell<Option<Survey>> = RefCell::default();
}

#[allow(unsafe_code)]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    safe fn validate(payload: *const u8, length: usize);
}

/// The policy's module, which JavaScript runs.
struct Module;

impl Policy for Module {
    fn validate(&mut self, payload: &str, registries: &mut Registries) -> Result<Vec<u8>, String> {
        REGISTRIES.replace(take(registries));
        validate(payload.as_ptr(), payload.len());
        *registries = REGISTRIES.take();
        Ok(INPUT.take())
    }
}

/// What JavaScript asks for.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "camelCase")]
enum Call {
    /// Begins a survey with the files of the folder examples (name and text).
    Begin {
        files: Vec<(String, String)>,
    },
    /// Ends a file.
    EndFile,
    /// Ends the input.
    Finish,
    /// Asks a new question.
    Ask {
        question: Question,
    },
    /// Works out one row. The result is false if there is none.
    Work,
    /// The rows from this number on.
    Rows {
        from: usize,
    },
    Report,
    /// The request about one object of a workload, and the settings of the preset.
    Detail {
        row: usize,
        preset: String,
    },
    /// The command that installs a preset.
    Command {
        preset: String,
        chart: String,
    },
    /// The requests that create the objects in a text, with the server defaults.
    Requests {
        text: String,
    },
    /// The first Pod of a workload.
    FirstPod {
        workload: Value,
    },
    /// How a Pod starts in the worst of the incidents that the question means. `settings` are those
    /// of the policy that answers its request; without them, it starts as it came in.
    Start {
        request: Value,
        settings: Option<Value>,
    },
    /// The answer to a request, with registries that all answer.
    Validate {
        request: Value,
        settings: Value,
    },
    /// Settings, which are YAML.
    Settings {
        text: String,
    },
    /// The settings in a file of a preset, as YAML.
    SettingsOf {
        preset: String,
    },
    /// A value as YAML.
    Yaml {
        value: Value,
    },
    /// The rows as CSV.
    Csv,
}

fn answer(call: Call) -> Result<Value, String> {
    if let Call::Begin { files } = call {
        let files = files.iter().map(|(name, text)| (&**name, &**text));
        let survey = Survey::new(files)?;
        SURVEY.replace(Some(survey));
        return Ok(Value::Null);
    }
    SURVEY.with_borrow_mut(|survey| {
        let survey = survey.as_mut().ok_or("begin comes first")?;
        match call {
            Call::Begin { .. } => Ok(Value::Null),
            Call::EndFile => value(survey.end_file()?),
            Call::Finish => survey.finish().map(|()| survey.workloads().into()),
            Call::Ask { question } => {
                survey.ask(question);
                Ok(Value::Null)
            }
            Call::Work => Ok(survey.work(&mut Module).into()),
            Call::Rows { from } => value(survey.rows().get(from..).unwrap_or_default()),
            Call::Report => value(survey.report()),
            Call::Detail { row, preset } => value(survey.detail(row, &preset, &mut Module)),
            Call::Command { preset, chart } => Ok(survey.command(&preset, &chart)?.into()),
            Call::Requests { text } => value(survey.requests(&text, &mut Module)?),
            Call::FirstPod { workload } => {
                value(consistent_pull_policy_survey::first_pod(&workload))
            }
            Call::Start { request, settings } => {
                value(survey.drawing(&request, settings.as_ref(), &mut Module))
            }
            Call::Validate { request, settings } => {
                answer_during(&request, &settings, None, &mut Module)
            }
            Call::Settings { text } => match from_yaml(&text)? {
                Value::Null => Ok(json!({})),
                settings => Ok(settings),
            },
            Call::SettingsOf { preset } => {
                let mut presets = survey.presets().iter();
                let found = presets.find(|it| it.name == preset);
                Ok(found
                    .map_or_else(String::new, |it| to_yaml(it.policy.settings()))
                    .into())
            }
            Call::Yaml { value } => Ok(to_yaml(&value).into()),
            Call::Csv => Ok(survey.csv().into()),
        }
    })
}

fn value(value: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Keeps the result, and returns its length.
fn put(result: Vec<u8>) -> usize {
    let length = result.len();
    OUTPUT.set(result);
    length
}

/// Makes a buffer of this length, and returns its address. What was in it is gone.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// The address of the last result.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(Vec::as_ptr)
}

/// Reads a piece of the input of the survey.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn piece() {
    let piece = INPUT.take();
    SURVEY.with_borrow_mut(|survey| {
        if let Some(survey) = survey {
            survey.read(&piece);
        }
    });
}

/// Answers a call, which is JSON, with `{"ok": …}` or `{"error": …}`, and returns the length.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    let call = serde_json::from_slice(&INPUT.take()).map_err(|error| error.to_string());
    let result = match call.and_then(answer) {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": error}),
    };
    put(result.to_string().into_bytes())
}

/// Answers a lookup of an image, which is a text: `{"ok": digest}` or `{"error": text}`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn digest() -> usize {
    let image = INPUT.take();
    let image = String::from_utf8_lossy(&image);
    let result = REGISTRIES.with_borrow_mut(|registries| registries.digest(&image));
    let result = match result {
        Ok(digest) => json!({"ok": digest}),
        Err(error) => json!({"error": error}),
    };
    put(result.to_string().into_bytes())
}
