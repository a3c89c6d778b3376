//! Checks the setting `imageChecks.template`, with Kubernetes' own type for containers.
//!
//! The API server would drop or reject a misspelt field of the check template, in every Pod that
//! gets a check. So a misspelt field is an error of the settings.

use serde_json::Value;
use settings_reader::{SettingsOrKubernetesObject, read_container};

use super::problem::SettingsProblem;

/// The path of the check template in the settings.
const PATH: &str = "imageChecks.template";
/// The fields that a check template can't have, each group with the reason.
const FORBIDDEN: [(&[&str], &str); 3] = [
    (
        &["name", "image", "imagePullPolicy"],
        "can't be set: every added check has its own",
    ),
    (
        &[
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ],
        "can't be set: init containers have no probes and no lifecycle",
    ),
    (
        &["restartPolicy", "restartPolicyRules"],
        "can't be set: a check has to run once and end",
    ),
];

/// All problems of a check template. None if it is not an object: that is a problem of its type.
pub(super) fn problems(template: &Value) -> Vec<SettingsProblem> {
    let Value::Object(template) = template else {
        return Vec::new();
    };
    let at_field = |name: &str, problem: &str| {
        let path = format!("{PATH}.{name}");
        SettingsProblem {
            message: format!("{path} {problem}"),
            path,
        }
    };
    let mut fields = template.clone();
    let mut problems = Vec::new();
    for (names, reason) in FORBIDDEN {
        for name in names {
            if fields.remove(*name).is_some() {
                problems.push(at_field(name, reason));
            }
        }
    }
    if let Some(Value::Object(resources)) = fields.get_mut("resources")
        && resources.remove("claims").is_some()
    {
        let reason = "can't be set: the API server refuses a claim that the Pod doesn't have";
        problems.push(at_field("resources.claims", reason));
    }
    let no_command = match fields.get("command") {
        None | Some(Value::Null) => true,
        Some(command) => command.as_array().is_some_and(Vec::is_empty),
    };
    let kind = SettingsOrKubernetesObject::KubernetesObject;
    for problem in read_container(&Value::Object(fields), PATH).1 {
        problems.push(SettingsProblem::of_value(problem, kind));
    }
    if no_command {
        let problem = "is missing: without it a check would run the image's own program";
        problems.push(at_field("command", problem));
    }
    problems
}
