//! Reads the settings into their structs, and writes a sentence for each problem.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Value;
use settings_reader::{ProblemKind, SettingsOrKubernetesObject, ValueProblem, is_unset};

use super::{Settings, SettingsError, SettingsProblem};
use crate::findings::sentence::shorten;

/// The largest length of the path of an unknown key in an error, in characters.
const SHOWN_MAX: usize = 60;
/// The largest value of `registry.maxLookups`.
const MAX_LOOKUPS: u64 = 100;
/// The largest length of a value in an error, in characters. The quotes of a text count too.
const QUOTED_MAX: usize = 62;
/// The largest length of any other path in an error, in characters.
const PATH_MAX: usize = 120;

/// Reads the text of the settings.
///
/// # Errors
/// The text is not JSON.
pub(super) fn tree(text: &[u8]) -> Result<Value, SettingsError> {
    serde_json::from_slice(text).map_err(|error| SettingsError {
        problems: vec![SettingsProblem {
            path: String::new(),
            message: format!(
                "the settings are no valid JSON at line {}, column {}",
                error.line(),
                error.column()
            ),
        }],
    })
}

/// Reads the settings, and returns at most 100 problems of values that can't be read. Such a value is
/// left out: its setting has the default, or the list that contains the value is read without it.
pub(super) fn settings(mut tree: Value) -> (Settings, Vec<SettingsProblem>) {
    if is_unset(&tree) {
        return (Settings::default(), Vec::new());
    }
    let (settings, problems) =
        settings_reader::read::<Settings>(&mut tree, "", SettingsOrKubernetesObject::Settings);
    let problems = problems
        .into_iter()
        .map(|problem| settings_problem(problem, SettingsOrKubernetesObject::Settings))
        .collect();
    (settings.unwrap_or_default(), problems)
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

/// Makes the problem of a value into a problem of the settings, with its sentence.
pub(super) fn settings_problem(
    problem: ValueProblem,
    tree: SettingsOrKubernetesObject,
) -> SettingsProblem {
    SettingsProblem {
        message: sentence(&problem, tree),
        path: problem.path,
    }
}

/// The sentence about a problem. It shows no value of a Kubernetes object, because the value may be a
/// secret.
fn sentence(problem: &ValueProblem, tree: SettingsOrKubernetesObject) -> String {
    let (path, found) = (&*problem.path, &problem.found);
    let place = match path {
        "" => "the settings".into(),
        path => shorten(path, PATH_MAX),
    };
    let shown = || match found {
        Value::Bool(_) | Value::Number(_) | Value::String(_)
            if tree == SettingsOrKubernetesObject::Settings =>
        {
            shorten(&found.to_string(), QUOTED_MAX).into_owned()
        }
        _ => kind(found).to_owned(),
    };
    match &problem.kind {
        // The type alone makes the value wrong here, so the value is not shown.
        ProblemKind::MustBeObject => format!("{place} must be an object, not {}", kind(found)),
        ProblemKind::MustBe(expected) => {
            let wanted = match &**expected {
                "a boolean" => "true or false",
                "i32" | "i64" => "a whole number",
                "Quantity" => "a quantity such as 100m or 64Mi",
                expected => expected,
            };
            format!("{place} must be {wanted}, not {}", shown())
        }
        ProblemKind::NoneOf(words) => {
            format!(
                "{place} must be one of {}, not {}",
                words.join(", "),
                shown()
            )
        }
        ProblemKind::UnknownKey(keys) => {
            let place = shorten(path, SHOWN_MAX);
            let holds = if path.contains('.') {
                "it holds"
            } else {
                "the settings have"
            };
            format!("{place} is not a setting: {holds} {}", keys.join(", "))
        }
        ProblemKind::UnknownField => format!("{place} is not a field of a container"),
        ProblemKind::MissingField(key) => format!("{place}.{key} is required"),
        ProblemKind::Refused(problem) => format!("{place} {} {problem}", shown()),
    }
}

/// The type of a value, for a sentence that does not show the value.
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
