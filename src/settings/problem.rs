//! The problems of wrong settings, each as a sentence with its path.

use serde_json::Value;
use settings_reader::{SettingsOrKubernetesObject, ValueProblem, ValueProblemKind};

use crate::document::type_of;
use crate::sentence::shorten;

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
    /// The problem of a value in a tree of this kind.
    pub(super) fn of_value(problem: ValueProblem<'_>, tree: SettingsOrKubernetesObject) -> Self {
        Self {
            message: sentence(&problem, tree),
            path: problem.path,
        }
    }
}

/// The sentence about a problem. It shows no value of a Kubernetes object, because the value may be a
/// secret.
fn sentence(problem: &ValueProblem<'_>, tree: SettingsOrKubernetesObject) -> String {
    let (path, found) = (&*problem.path, problem.found);
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
        _ => type_of(&found.to_string()).to_owned(),
    };
    match &problem.kind {
        // The type alone makes the value wrong here, so the value is not shown.
        ValueProblemKind::MustBeObject => {
            let found = type_of(&found.to_string());
            format!("{place} must be an object, not {found}")
        }
        ValueProblemKind::MustBe(expected) => {
            let wanted = match &**expected {
                "a boolean" => "true or false",
                "i32" | "i64" => "a whole number",
                "Quantity" => "a quantity such as 100m or 64Mi",
                expected => expected,
            };
            format!("{place} must be {wanted}, not {}", shown())
        }
        ValueProblemKind::UnknownKey(keys) => {
            let place = shorten(path, SHOWN_MAX);
            let holds = if path.contains('.') {
                "it holds"
            } else {
                "the settings have"
            };
            format!("{place} is not a setting: {holds} {}", keys.join(", "))
        }
        ValueProblemKind::UnknownField => format!("{place} is not a field of a container"),
        ValueProblemKind::MissingField(key) => format!("{place}.{key} is required"),
        ValueProblemKind::Refused(problem) => format!("{place} {} {problem}", shown()),
    }
}
