//! Settings that contradict each other, although each single value is valid.

use super::problem::{SettingsProblem, is_in};
use super::{
    CheckNamePrefix, InitContainerOrImageVolume, MissingCheckAction, MissingPlatformAction,
    PolicyMode, Settings,
};

/// The conflicts of the settings, apart from conflicts that one of the problems in `known` may have
/// caused. A value that can't be read is missing in `Settings`, so the user's own settings may not have
/// such a conflict.
pub(super) fn conflicts(settings: &Settings, known: &[SettingsProblem]) -> Vec<SettingsProblem> {
    let mut conflicts = SettingsConflicts {
        known,
        found: Vec::new(),
    };
    if settings.validating_copy && settings.mode == PolicyMode::Fix {
        conflicts.add(
            &["validatingCopy", "mode"],
            "validatingCopy is for mode Reject or Warn: a validating installation changes nothing",
        );
    }
    add_conflicts_of_image_checks(settings, &mut conflicts);
    add_conflicts_of_lookups(settings, &mut conflicts);
    add_hidden_overrides(settings, &mut conflicts);
    conflicts.found
}

/// The conflicts that were found.
struct SettingsConflicts<'k> {
    /// The problems that were found before.
    known: &'k [SettingsProblem],
    found: Vec<SettingsProblem>,
}

impl SettingsConflicts<'_> {
    /// Adds a conflict. `paths` are the settings on which it depends, and the sentence has the way out.
    fn add(&mut self, paths: &[&str], sentence: impl Into<String>) {
        let may_cause = |problem: &SettingsProblem| {
            let mut paths = paths.iter();
            paths.any(|path| is_in(&problem.path, path) || is_in(path, &problem.path))
        };
        if !self.known.iter().any(may_cause) {
            self.found.push(SettingsProblem {
                path: String::new(),
                message: sentence.into(),
            });
        }
    }
}

fn add_conflicts_of_image_checks(settings: &Settings, conflicts: &mut SettingsConflicts<'_>) {
    let checks = &settings.image_checks;
    if checks.coverage != MissingCheckAction::Fix {
        return;
    }
    let copies_a_check = checks.made_of != InitContainerOrImageVolume::ImageVolume;
    if checks.every_pod && copies_a_check && checks.template.is_none() {
        conflicts.add(
            &[
                "imageChecks.coverage",
                "imageChecks.everyPod",
                "imageChecks.as",
                "imageChecks.template",
            ],
            "imageChecks.template is missing: with coverage Fix and everyPod true, a Pod \
                without image checks has none to copy, unless imageChecks.as is ImageVolume",
        );
    }
    let Some(prefix) = checks.name_prefixes.first().map(CheckNamePrefix::as_str) else {
        return;
    };
    let patterns = settings.exempt.containers.iter();
    for pattern in patterns.filter(|pattern| pattern.matches_numbered(prefix)) {
        conflicts.add(
            &["imageChecks.coverage", "imageChecks.namePrefixes"],
            format!(
                "exempt.containers \"{}\" matches the checks that imageChecks.coverage Fix adds, \
                 {prefix} and a number: name containers that it does not",
                pattern.as_str()
            ),
        );
    }
}

fn add_conflicts_of_lookups(settings: &Settings, conflicts: &mut SettingsConflicts<'_>) {
    let registry = &settings.registry;
    let has_platform = registry.platform != MissingPlatformAction::Off;
    if registry.images.is_empty() && (registry.looks_up() || has_platform) {
        conflicts.add(
            &[
                "registry.images",
                "registry.lookup",
                "registry.overrides",
                "registry.platform",
            ],
            "registry.images is required for lookups: whoever creates a Pod chooses the \
                hosts of its images, and policy-server connects to them; name your registries, e.g. \
                registry.example.com/*, or write * for all images",
        );
    }
    if has_platform && !registry.looks_up() {
        conflicts.add(
            &["registry.platform", "registry.lookup", "registry.overrides"],
            "registry.platform needs lookups, and none is made: set registry.lookup, or that \
                of an entry of registry.overrides, to Verify or Pin",
        );
    }
}

/// Adds each pattern of `registry.overrides` that never decides, because an earlier entry matches the
/// same images.
fn add_hidden_overrides(settings: &Settings, conflicts: &mut SettingsConflicts<'_>) {
    let overrides = &settings.registry.overrides;
    for (index, later) in overrides.iter().enumerate() {
        for pattern in &later.images {
            let earlier = overrides.iter().take(index).enumerate();
            let hiding = earlier
                .flat_map(|(index, entry)| entry.images.iter().map(move |image| (index, image)))
                .find(|(_, earlier)| earlier.hides(pattern));
            if let Some((earlier, by)) = hiding {
                let (pattern, by) = (pattern.as_str(), by.as_str());
                conflicts.add(
                    &["registry.overrides"],
                    format!(
                        "registry.overrides[{index}].images \"{pattern}\" never decides: \"{by}\" of \
                         registry.overrides[{earlier}] matches all that it does; put it before that \
                         entry or take it out"
                    ),
                );
            }
        }
    }
}
