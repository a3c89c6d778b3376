//! The fields of added init containers, and their position in the Pod.

use k8s_openapi::api::core::v1::Container;

use super::copy::copy;
use super::template::from_template;
use crate::pod::{List, Pod, Pull};
use crate::sanitize::sanitize;

/// The fields of the added init containers, without names, images and pull policies, and the index
/// of the first of them: a copy of the last check that can be copied, or else the check template.
///
/// # Errors
/// The sentence that says why none is added.
pub(super) fn fields(pod: &Pod<'_>) -> Result<(Container, usize), String> {
    let inits = || {
        let pulls = pod.pulls.iter();
        pulls.filter(|pull| pull.list == List::InitContainers)
    };
    let after = |pull: Option<&Pull<'_>>| pull.map_or(0, |pull| pull.index.saturating_add(1));
    let after_checks = after(inits().rfind(|pull| pull.is_check));
    let mut why =
        "no check of this Pod can be copied and imageChecks.template is not set".to_owned();
    for check in inits().rev().filter(|pull| pull.is_check) {
        match copy(pod, check) {
            Ok(Some(container)) => return Ok((container, after_checks)),
            Ok(None) => {}
            Err(field) => {
                let (check, field) = (sanitize(&check.name), sanitize(&field));
                why = format!("{check} has a field that this policy doesn't know, {field}");
            }
        }
    }
    let because = |why| format!("none is added, because {why}");
    let settings = &pod.settings.image_checks;
    let Some(template) = &settings.template else {
        return Err(because(why));
    };
    let is_named = |pull: &&Pull<'_>| {
        let mut patterns = settings.insert_after.iter();
        patterns.any(|pattern| pattern.matches(&pull.name))
    };
    let last_named = inits().rfind(is_named);
    let container = from_template(template, pod, last_named).map_err(because)?;
    // A check of the template runs a program of a volume, so it comes after the init container that
    // fills the volume.
    Ok((container, after_checks.max(after(last_named))))
}
