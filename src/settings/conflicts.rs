//! Settings that contradict each other, although each single value is valid.

use super::{Coverage, Form, Lookup, NamePattern, Settings, Template};

/// More numbers than the image checks of one Pod can have.
const CHECK_NUMBERS: u32 = 10_000;

/// All contradictions, a sentence each with the way out.
pub(super) fn conflicts(settings: &Settings) -> Vec<String> {
    let checks = &settings.image_checks;
    let registry = &settings.registry;
    let adds_checks = checks.coverage == Coverage::Fix;
    let mut conflicts = checks
        .template
        .as_ref()
        .map(Template::problems)
        .unwrap_or_default();
    let mut add =
        |is_wrong: bool, sentence: &str| conflicts.extend(is_wrong.then(|| sentence.to_owned()));
    add(
        adds_checks
            && checks.every_pod
            && checks.form == Form::InitContainer
            && checks.template.is_none(),
        "imageChecks.template is required: with coverage Fix and everyPod true, a Pod without image checks has none to \
         copy, unless imageChecks.as is ImageVolume",
    );
    add(
        registry.images.is_empty() && registry.lookup != Lookup::Off,
        "registry.images is required for lookups: whoever creates a Pod chooses the hosts of its images, \
         and policy-server connects to them, so name your registries, e.g. registry.example.com/*, or \
         write * for all images",
    );
    let prefix = checks.first_prefix();
    let exempts_checks = |pattern: &&NamePattern| {
        adds_checks
            && (0..CHECK_NUMBERS).any(|number| pattern.matches(&format!("{prefix}{number}")))
    };
    if let Some(pattern) = settings.exempt.containers.iter().find(exempts_checks) {
        let pattern = String::from(pattern.clone());
        conflicts.push(format!(
            "exempt.containers has {pattern}, which matches the checks that coverage Fix adds ({prefix} and a number): \
             name other containers"
        ));
    }
    conflicts
}
