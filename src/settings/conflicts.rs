//! Settings that contradict each other, although each single value is valid.

use super::problem::SettingsProblem;
use super::{
    CheckNamePrefix, InitContainerOrImageVolume, MissingCheckAction, MissingPlatformAction, Mode,
    Settings,
};

/// Settings that contradict each other.
struct Conflict {
    /// The settings that the conflict depends on.
    paths: &'static [&'static str],
    /// A sentence with the conflict and the way out.
    message: String,
}

/// The conflicts of the settings, apart from conflicts that one of the problems in `known` may have
/// caused. A value that can't be read is missing in `Settings`, so the user's own settings may not have
/// such a conflict.
pub(super) fn conflicts(settings: &Settings, known: &[SettingsProblem]) -> Vec<SettingsProblem> {
    let mut conflicts = Vec::new();
    if settings.validating_copy && settings.mode == Mode::Fix {
        conflicts.push(Conflict {
            paths: &["validatingCopy", "mode"],
            message: "validatingCopy is for mode Reject or Warn: a validating installation changes nothing"
                .to_owned(),
        });
    }
    add_conflicts_of_image_checks(settings, &mut conflicts);
    add_conflicts_of_lookups(settings, &mut conflicts);
    add_hidden_overrides(settings, &mut conflicts);

    let may_cause = |problem: &SettingsProblem, conflict: &Conflict| {
        let mut paths = conflict.paths.iter();
        paths.any(|path| is_in(&problem.path, path) || is_in(path, &problem.path))
    };
    conflicts.retain(|conflict| !known.iter().any(|problem| may_cause(problem, conflict)));
    let problem = |conflict: Conflict| SettingsProblem {
        path: String::new(),
        message: conflict.message,
    };
    conflicts.into_iter().map(problem).collect()
}

fn add_conflicts_of_image_checks(settings: &Settings, conflicts: &mut Vec<Conflict>) {
    let checks = &settings.image_checks;
    if checks.coverage != MissingCheckAction::Fix {
        return;
    }
    let copies_a_check = checks.made_of != InitContainerOrImageVolume::ImageVolume;
    if checks.every_pod && copies_a_check && checks.template.is_none() {
        conflicts.push(Conflict {
            paths: &[
                "imageChecks.coverage",
                "imageChecks.everyPod",
                "imageChecks.as",
                "imageChecks.template",
            ],
            message: "imageChecks.template is missing: with coverage Fix and everyPod true, a Pod \
                without image checks has none to copy, unless imageChecks.as is ImageVolume"
                .to_owned(),
        });
    }
    let Some(prefix) = checks.name_prefixes.first().map(CheckNamePrefix::as_str) else {
        return;
    };
    let patterns = settings.exempt.containers.iter();
    for pattern in patterns.filter(|pattern| pattern.matches_numbered(prefix)) {
        conflicts.push(Conflict {
            paths: &["imageChecks.coverage", "imageChecks.namePrefixes"],
            message: format!(
                "exempt.containers \"{}\" matches the checks that imageChecks.coverage Fix adds, \
                 {prefix} and a number: name containers that it does not",
                pattern.as_str()
            ),
        });
    }
}

fn add_conflicts_of_lookups(settings: &Settings, conflicts: &mut Vec<Conflict>) {
    let registry = &settings.registry;
    let has_platform = registry.platform != MissingPlatformAction::Off;
    if registry.images.is_empty() && (registry.looks_up() || has_platform) {
        conflicts.push(Conflict {
            paths: &[
                "registry.images",
                "registry.lookup",
                "registry.overrides",
                "registry.platform",
            ],
            message: "registry.images is required for lookups: whoever creates a Pod chooses the \
                hosts of its images, and policy-server connects to them; name your registries, e.g. \
                registry.example.com/*, or write * for all images"
                .to_owned(),
        });
    }
    if has_platform && !registry.looks_up() {
        conflicts.push(Conflict {
            paths: &["registry.platform", "registry.lookup", "registry.overrides"],
            message:
                "registry.platform needs lookups, and none is made: set registry.lookup, or that \
                of an entry of registry.overrides, to Verify or Pin"
                    .to_owned(),
        });
    }
}

/// Adds each pattern of `registry.overrides` that never decides, because an earlier entry matches the
/// same images.
fn add_hidden_overrides(settings: &Settings, conflicts: &mut Vec<Conflict>) {
    let overrides = &settings.registry.overrides;
    for (index, later) in overrides.iter().enumerate() {
        for pattern in &later.images {
            let earlier = overrides.iter().take(index).enumerate();
            let hiding = earlier
                .flat_map(|(index, entry)| entry.images.iter().map(move |image| (index, image)))
                .find(|(_, earlier)| earlier.hides(pattern));
            if let Some((earlier, by)) = hiding {
                let (pattern, by) = (pattern.as_str(), by.as_str());
                conflicts.push(Conflict {
                    paths: &["registry.overrides"],
                    message: format!(
                        "registry.overrides[{index}].images \"{pattern}\" never decides: \"{by}\" of \
                         registry.overrides[{earlier}] matches all that it does; put it before that \
                         entry or take it out"
                    ),
                });
            }
        }
    }
}

/// Whether a setting is this section or a part of it.
fn is_in(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
