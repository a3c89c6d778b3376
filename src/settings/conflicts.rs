//! Settings that contradict each other, although each single value is valid.

use super::problem::SettingsProblem;
use super::{AddedCheckKind, MissingCheckAction, MissingPlatformAction, Mode, Settings};

/// The conflicts of the settings, apart from conflicts that one of the problems in `known` may have
/// caused. A value that can't be read is missing in `Settings`, so the user's own settings may not have
/// such a conflict.
pub(super) fn conflicts(settings: &Settings, known: &[SettingsProblem]) -> Vec<SettingsProblem> {
    let mut conflicts = Vec::new();
    // `paths` are the settings that a conflict depends on. `message` is a sentence with the conflict and
    // the way out.
    let mut add = |paths: &[&str], message| {
        let may_come_from = |problem: &SettingsProblem| {
            let mut paths = paths.iter();
            paths.any(|path| is_in(&problem.path, path) || is_in(path, &problem.path))
        };
        if !known.iter().any(may_come_from) {
            let path = String::new();
            conflicts.push(SettingsProblem { path, message });
        }
    };
    let checks = &settings.image_checks;
    let registry = &settings.registry;

    if checks.coverage == MissingCheckAction::Fix
        && checks.every_pod
        && checks.template.is_none()
        && checks.made_of != AddedCheckKind::ImageVolume
    {
        add(
            &[
                "imageChecks.coverage",
                "imageChecks.everyPod",
                "imageChecks.as",
                "imageChecks.template",
            ],
            "imageChecks.template is missing: with coverage Fix and everyPod true, a Pod without \
             image checks has none to copy, unless imageChecks.as is ImageVolume"
                .to_owned(),
        );
    }
    if let (MissingCheckAction::Fix, Some(prefix)) = (checks.coverage, checks.name_prefixes.first())
    {
        let prefix = prefix.as_str();
        let patterns = settings.exempt.containers.iter();
        for pattern in patterns.filter(|pattern| pattern.matches_numbered(prefix)) {
            add(
                &["imageChecks.coverage", "imageChecks.namePrefixes"],
                format!(
                    "exempt.containers \"{}\" matches the checks that \
                     imageChecks.coverage Fix adds, {prefix} and a number: name containers that \
                     it does not",
                    pattern.as_str()
                ),
            );
        }
    }
    if registry.accepts_unknown_answers() && settings.mode == Mode::Fix {
        add(
            &["registry.maxLookups", "mode"],
            "registry.maxLookups 0 is for mode Reject or Warn, a copy that accepts what lookups \
             left: in mode Fix set registry.lookup to \"Off\", which asks nothing either"
                .to_owned(),
        );
    }
    let has_lookups = registry.looks_up() || registry.platform != MissingPlatformAction::Off;
    if registry.images.is_empty() && has_lookups {
        add(
            &[
                "registry.images",
                "registry.lookup",
                "registry.overrides",
                "registry.platform",
            ],
            "registry.images is required for lookups: whoever creates a Pod chooses the hosts of its \
             images, and policy-server connects to them; name your registries, e.g. \
             registry.example.com/*, or write * for all images"
                .to_owned(),
        );
    }
    if registry.platform != MissingPlatformAction::Off && !registry.looks_up() {
        add(
            &["registry.platform", "registry.lookup", "registry.overrides"],
            "registry.platform needs lookups, and none is made: set registry.lookup, or that of \
             an entry of registry.overrides, to Verify or Pin"
                .to_owned(),
        );
    }
    for (index, later) in registry.overrides.iter().enumerate() {
        for pattern in &later.images {
            let earlier = registry.overrides.iter().take(index).enumerate();
            let hiding = earlier
                .flat_map(|(index, entry)| entry.images.iter().map(move |image| (index, image)))
                .find(|(_, earlier)| earlier.hides(pattern));
            if let Some((earlier, by)) = hiding {
                let (pattern, by) = (pattern.as_str(), by.as_str());
                add(
                    &["registry.overrides"],
                    format!(
                        "registry.overrides[{index}].images \"{pattern}\" never decides: \
                         \"{by}\" of registry.overrides[{earlier}] matches all that it does; put \
                         it before that entry or take it out"
                    ),
                );
            }
        }
    }
    conflicts
}

/// Whether a setting is this section or a part of it.
fn is_in(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
