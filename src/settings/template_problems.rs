//! Checks the setting `imageChecks.template`, with Kubernetes' own type for containers.
//!
//! The API server would drop or reject a misspelt field of the check template, in every Pod that
//! gets a check. So a misspelt field is an error of the settings.

use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::problem::SettingsProblem;
use crate::kubernetes_container_json;

/// The path of the check template in the settings.
pub(super) const PATH: &str = "imageChecks.template";
/// The same path as a JSON pointer.
pub(super) const POINTER: &str = "/imageChecks/template";
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

/// All problems of a check template.
pub(super) fn problems(template: &Map<String, Value>) -> Vec<SettingsProblem> {
    let at_field =
        |name: &str, problem: &str| SettingsProblem::at(format!("{PATH}.{name}"), problem);
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
    add_problems_of_values(fields, &mut problems);
    if no_command {
        let problem = "is missing: without it a check would run the image's own program";
        problems.push(at_field("command", problem));
    }
    problems
}

/// Adds the problems of the fields' values: of each field one value of a wrong type, or all fields inside that
/// Kubernetes doesn't know.
fn add_problems_of_values(fields: Map<String, Value>, problems: &mut Vec<SettingsProblem>) {
    for (name, value) in fields {
        let field = Value::Object(Map::from_iter([(name, value)]));
        match kubernetes_container_json::read(&field) {
            Ok((_, unknown)) => problems.extend(unknown.iter().map(|path| {
                let path = [PATH, path].concat();
                SettingsProblem::at(path, "is not a field of a container")
            })),
            Err(error) => {
                let path = format!("{PATH}.{}", error.path());
                let steps = &mut error.path().iter();
                let found = steps.try_fold(&field, |value, step| match step {
                    Segment::Map { key } => value.get(key),
                    Segment::Seq { index } => value.get(index),
                    Segment::Enum { .. } | Segment::Unknown => Some(value),
                });
                let found = found.unwrap_or(&Value::Null);
                problems.push(SettingsProblem::of_template(
                    path,
                    found,
                    &error.inner().to_string(),
                ));
            }
        }
    }
}
