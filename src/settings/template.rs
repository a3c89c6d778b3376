//! The template of a check, held against Kubernetes' own type.
//!
//! A misspelt field in `imageChecks.template` would be dropped or rejected by the API server in
//! every Pod that gets a check, so it is found when the settings are.

use k8s_openapi::api::core::v1::Container;
use serde_json::Value;

use super::CheckTemplate;
use super::read::{self, Form};

const PATH: &str = "imageChecks.template";
/// The fields that a check can't have, and why.
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

/// Everything that is wrong with a template, each with its path.
pub(super) fn problems(template: &CheckTemplate) -> Vec<String> {
    let mut fields = template.fields().clone();
    let mut problems = Vec::new();
    for (names, reason) in FORBIDDEN {
        for name in names {
            if fields.remove(*name).is_some() {
                problems.push(format!("{PATH}.{name} {reason}"));
            }
        }
    }
    let no_command = match fields.get("command") {
        None | Some(Value::Null) => true,
        Some(command) => command.as_array().is_some_and(Vec::is_empty),
    };
    let (_, found) = read::all::<Container>(&mut Value::Object(fields), PATH, Form::Object);
    problems.extend(found.into_iter().map(|problem| problem.told));
    if no_command {
        problems.push(format!(
            "{PATH}.command is missing: without it a check would run the image's own program"
        ));
    }
    problems
}
