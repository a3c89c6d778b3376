//! Settings that contradict each other, although each single value is valid.

use super::image_checks::{Form, ImageChecks, OnMissing, Template};
use super::registry::{Lookup, Registry};

/// All contradictions, a sentence each with the way out.
pub(super) fn conflicts(checks: &ImageChecks, registry: &Registry) -> Vec<String> {
    let adds_checks = checks.on_missing == OnMissing::Add;
    let mut conflicts = checks
        .template
        .as_ref()
        .map(Template::problems)
        .unwrap_or_default();
    let mut add =
        |is_wrong: bool, sentence: &str| conflicts.extend(is_wrong.then(|| sentence.to_owned()));
    add(
        adds_checks
            && checks.pods_without_checks
            && checks.form == Form::InitContainer
            && checks.template.is_none(),
        "imageChecks.template is required: with onMissing: Add and podsWithoutChecks: true, a Pod without image checks has none to \
         copy, unless imageChecks.type is ImageVolume",
    );
    add(
        registry.images.is_empty() && registry.lookup != Lookup::Off,
        "registry.images is required for lookups: whoever creates a Pod chooses the hosts of its images, \
         and policy-server connects to them, so name your registries, e.g. registry.example.com/*, or \
         write * for all images",
    );
    conflicts
}
