//! Checks the settings that are lists of image patterns.
//!
//! A pattern that no image can match is an error. To find out may take long, so patterns are checked
//! only when this policy is loaded.

use serde_json::Value;

use super::problem::SettingsProblem;
use crate::pattern::ImagePattern;

/// The largest number of problems that are reported.
const PROBLEMS_MAX: usize = 100;

/// The problems of the image patterns in a tree of settings. The tree has all elements of its lists, so
/// each path has the index that the user sees.
pub(super) fn problems(tree: &Value) -> Vec<SettingsProblem> {
    let mut problems = Vec::new();
    // The lists come in the order of their sorted keys. A missing value is `null` here.
    let [exempt, images, registry] = ["exempt", "images", "registry"].map(|key| &tree[key]);
    check("exempt.images", &exempt["images"], &mut problems);
    for key in ["forbidAlways", "forbidNever", "requireAlways"] {
        check(&format!("images.{key}"), &images[key], &mut problems);
    }
    check("registry.images", &registry["images"], &mut problems);
    let overrides = registry["overrides"].as_array().into_iter().flatten();
    for (index, entry) in overrides.enumerate() {
        let path = format!("registry.overrides[{index}].images");
        check(&path, &entry["images"], &mut problems);
    }
    let skipped = &registry["skipImages"];
    check("registry.skipImages", skipped, &mut problems);
    problems.truncate(PROBLEMS_MAX);
    problems
}

/// Checks the patterns of one list.
fn check(path: &str, list: &Value, problems: &mut Vec<SettingsProblem>) {
    let elements = list.as_array().into_iter().flatten();
    for (index, found) in elements.enumerate() {
        let pattern = found.as_str().filter(|text| !text.is_empty());
        let pattern = pattern.map(|text| ImagePattern::from(text.to_owned()));
        if let Some(reason) = pattern.and_then(|pattern| pattern.problem()) {
            let path = format!("{path}[{index}]");
            problems.push(SettingsProblem::of_value(path, found, &reason));
        }
    }
}
