//! Checks the settings that are lists of image patterns.
//!
//! A pattern that no image can match is an error. To find out may take long, so patterns are checked
//! only when this policy is loaded.

use serde_json::Value;
use settings_reader::{ProblemKind, SettingsOrKubernetesObject, ValueProblem};

use super::SettingsProblem;
use super::read::settings_problem;
use crate::pattern::ImagePattern;

/// The largest number of problems that are reported.
const PROBLEMS_MAX: usize = 100;

/// The problems of the image patterns in a tree of settings. The tree has all elements of its lists, so
/// each path has the index that the user sees.
pub(super) fn problems(tree: &Value) -> Vec<SettingsProblem> {
    let mut problems = Vec::new();
    for path in list_paths(tree) {
        let pointer = ["/", &path.replace(['.', '['], "/").replace(']', "")].concat();
        let list = tree.pointer(&pointer).and_then(Value::as_array);
        for (index, found) in list.into_iter().flatten().enumerate() {
            let pattern = found.as_str().filter(|text| !text.is_empty());
            let pattern = pattern.map(|text| ImagePattern::from(text.to_owned()));
            if let Some(reason) = pattern.and_then(|pattern| pattern.problem()) {
                let problem = ValueProblem {
                    path: format!("{path}[{index}]"),
                    kind: ProblemKind::Refused(reason),
                    found: found.clone(),
                };
                let kind = SettingsOrKubernetesObject::Settings;
                problems.push(settings_problem(problem, kind));
            }
        }
    }
    problems.truncate(PROBLEMS_MAX);
    problems
}

/// The paths of all lists of image patterns, in the order of the sorted keys.
fn list_paths(tree: &Value) -> Vec<String> {
    let overrides = tree
        .pointer("/registry/overrides")
        .and_then(Value::as_array);
    let mut paths = [
        "exempt.images",
        "images.forbidAlways",
        "images.forbidNever",
        "images.requireAlways",
        "registry.images",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend(
        (0..overrides.map_or(0, Vec::len))
            .map(|index| format!("registry.overrides[{index}].images")),
    );
    paths.push("registry.skipImages".to_owned());
    paths
}
