//! The problems of wrong settings, each as a sentence with its path.

use serde_json::Value;

use crate::document::type_of;
use crate::shown_text::shorten;

/// The largest length of the path of an unknown key in an error, in characters.
const SHOWN_MAX: usize = 60;
/// The largest length of a value in an error, in characters. The quotes of a text count too.
const QUOTED_MAX: usize = 62;
/// The largest length of any other path in an error, in characters.
const PATH_MAX: usize = 120;

/// One problem of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingsProblem {
    /// The path to the wrong value, e.g. `exempt.images[2]`. It is empty for a conflict between
    /// settings, and for a problem of the settings as a whole.
    pub(super) path: String,
    /// The problem as a sentence for a person. The sentence includes the path, if there is one.
    pub(super) message: String,
}

impl SettingsProblem {
    /// The problem of the value at this path. `clause` is the end of the sentence.
    pub(super) fn at(path: String, clause: &str) -> Self {
        let message = format!("{} {clause}", shorten(&path, PATH_MAX));
        Self { path, message }
    }

    /// A setting can't be read. `error` is serde's text, or a clause about the value.
    pub(super) fn of_value(path: String, found: &Value, error: &str) -> Self {
        if let Some(field) = error.strip_prefix("missing field ") {
            let path = [&path, ".", field.trim_matches('`')].concat();
            return Self::at(path, "is required");
        }
        let shown = match found {
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                shorten(&found.to_string(), QUOTED_MAX).into_owned()
            }
            _ => type_of(&found.to_string()).to_owned(),
        };
        let message = match error.rsplit_once(", expected ") {
            Some((mistake, keys)) if mistake.starts_with("unknown field") => {
                let (place, keys) = (shorten(&path, SHOWN_MAX), keys.replace('`', ""));
                format!("{place} is not a setting: expected {keys}")
            }
            Some((_, "an object" | "a map")) => {
                must_be(&path, "an object", type_of(&found.to_string()))
            }
            Some((_, expected)) => must_be(&path, expected, &shown),
            None => format!("{} {shown} {error}", shorten(&path, PATH_MAX)),
        };
        Self { path, message }
    }

    /// A field of the check template can't be read. `error` is serde's text. The sentence shows no value, because a
    /// value may be a secret.
    pub(super) fn of_template(path: String, found: &Value, error: &str) -> Self {
        let expected = error.rsplit_once(", expected ");
        let expected = expected.map_or("a valid value", |(_, expected)| expected);
        let message = must_be(&path, expected, type_of(&found.to_string()));
        Self { path, message }
    }
}

/// The sentence about a value that must be another one. `expected` is in serde's words.
fn must_be(path: &str, expected: &str, found: &str) -> String {
    let place = match path {
        "" => "the settings".into(),
        path => shorten(path, PATH_MAX),
    };
    let wanted = match expected {
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "i32" | "i64" => "a whole number",
        "Quantity" => "a quantity such as 100m or 64Mi",
        expected => &expected.replace('`', ""),
    };
    format!("{place} must be {wanted}, not {found}")
}

/// Whether a setting is this section or a part of it.
pub(super) fn is_in(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
