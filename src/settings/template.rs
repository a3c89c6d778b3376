//! The template of a check, held against Kubernetes' own type.
//!
//! A misspelt field in `imageChecks.template` would be dropped or rejected by the API server in
//! every Pod that gets a check, so it is found when the settings are.

use serde_json::Value;
use settings_reader::{Form, container_problems};

use super::CheckTemplate;
use super::read::sentence;

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
    let found = container_problems(fields, PATH);
    problems.extend(found.iter().map(|problem| sentence(problem, Form::Object)));
    if no_command {
        problems.push(format!(
            "{PATH}.command is missing: without it a check would run the image's own program"
        ));
    }
    problems
}
