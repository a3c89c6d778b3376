//! Reading the settings into their structs, and the words for every problem in them.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Value;
use settings_reader::{Form, What, is_unset};

use super::{MAX_LOOKUPS, Settings};
use crate::sentence::shorten;

/// The longest key or value of the settings in an error, in characters.
const SHOWN_MAX: usize = 60;
/// The same for a text with its quotes.
const QUOTED_MAX: usize = 62;
/// The longest path in an error, in characters.
const PATH_MAX: usize = 120;

/// A problem of the settings.
#[derive(Debug)]
pub(super) struct Problem {
    /// The path to the value that is wrong.
    pub(super) path: String,
    /// The sentence, path included.
    pub(super) told: String,
}

/// Reads settings as far as they can be read, and tells what can't.
pub(super) fn settings(text: &[u8]) -> Result<(Settings, Vec<Problem>), Vec<String>> {
    let mut tree: Value = serde_json::from_slice(text).map_err(|error| {
        vec![format!(
            "the settings are no valid JSON at line {}, column {}",
            error.line(),
            error.column()
        )]
    })?;
    if is_unset(&tree) {
        return Ok((Settings::default(), Vec::new()));
    }
    let (settings, problems) = settings_reader::read::<Settings>(&mut tree, "", Form::Settings);
    let told = |problem| Problem {
        told: sentence(&problem, Form::Settings),
        path: problem.path,
    };
    Ok((
        settings.unwrap_or_default(),
        problems.into_iter().map(told).collect(),
    ))
}

/// Reads `registry.maxLookups`.
pub(super) fn max_lookups<'de, D: Deserializer<'de>>(source: D) -> Result<usize, D::Error> {
    let value = Value::deserialize(source)?;
    value
        .as_u64()
        .filter(|number| *number <= MAX_LOOKUPS)
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| {
            let wanted = format!("a whole number from 0 to {MAX_LOOKUPS}");
            D::Error::invalid_value(Unexpected::Other("value"), &wanted.as_str())
        })
}

/// What is wrong, with the path, what is there, and what is allowed. Values of an object are not
/// shown.
pub(super) fn sentence(problem: &settings_reader::Problem, form: Form) -> String {
    let (path, found) = (&*problem.path, &problem.found);
    let place = match path {
        "" => "the settings".into(),
        path => shorten(path, PATH_MAX),
    };
    let shown = || match found {
        Value::Bool(_) | Value::Number(_) | Value::String(_) if form == Form::Settings => {
            shorten(&found.to_string(), QUOTED_MAX).into_owned()
        }
        _ => kind(found).to_owned(),
    };
    match &problem.what {
        // A section has no value that could be shown.
        What::MustBeObject => format!("{place} must be an object, not {}", kind(found)),
        What::MustBe(expected) => {
            let wanted = match &**expected {
                "a boolean" => "true or false",
                "i32" | "i64" => "a whole number",
                "Quantity" => "a quantity such as 100m or 64Mi",
                expected => expected,
            };
            format!("{place} must be {wanted}, not {}", shown())
        }
        What::NoneOf(words) => {
            format!(
                "{place} must be one of {}, not {}",
                words.join(", "),
                shown()
            )
        }
        What::UnknownKey(keys) => {
            let place = shorten(path, SHOWN_MAX);
            let holds = if path.contains('.') {
                "it holds"
            } else {
                "the settings have"
            };
            format!("{place} is not a setting: {holds} {}", keys.join(", "))
        }
        What::NoField => format!("{place} is not a field of a container"),
        What::Lacks(key) => format!("{place}.{key} is missing: every entry needs it"),
        What::Refused(problem) => format!("{place} {} {problem}", shown()),
    }
}

/// What a value is, where it is not shown itself.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
