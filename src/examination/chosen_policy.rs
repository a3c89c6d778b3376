//! Whether the author of a place chose its pull policy, and the configured default if not.
//!
//! This policy sees its own output again: for example in the copy, in an audit, and in a Pod that a
//! controller makes from a repaired pod template. It then can't distinguish the author's choice,
//! the server default and its own repair. The record has this information, but anybody can write
//! a record. So all rules follow one principle for the values of a request: **a rule keeps a
//! value that another rule may have written.**

use crate::examination::place::{ExaminedPlace, server_default};
use crate::image::Reference;
use crate::pull_policy::PullPolicy;
use crate::settings::{DefaultPullPolicy, LookupMode, Settings};

/// Whether the author chose the pull policy. A pull policy that equals the server default counts
/// as not chosen. A forbidden pull policy also counts as not chosen, so that *default* can replace it
/// before *disallowed-policy* does. Otherwise the next run could write the default over the pull policy
/// that *disallowed-policy* has set.
pub(crate) fn is_chosen(examined: &ExaminedPlace<'_>) -> bool {
    examined.place.policy.is_some_and(|policy| {
        policy != server_default(&examined.reference)
            && examined.limits.forbidding(policy).is_none()
    })
}

/// The configured default of a place, and the setting that it comes from. None if no default is set for the
/// place, or if the default is `Never` and the settings select the image for lookups.
pub(crate) fn configured_default(
    examined: &ExaminedPlace<'_>,
    is_check: bool,
    settings: &Settings,
) -> Option<(PullPolicy, &'static str)> {
    let defaults = &settings.defaults;
    let for_checks = defaults.image_check_pull_policy.filter(|_| is_check);
    let (default, setting) = match for_checks {
        Some(default) => (default, "defaults.imageCheckPullPolicy"),
        None => (defaults.image_pull_policy?, "defaults.imagePullPolicy"),
    };
    let has_digest = examined.has_digest();
    let lookup = examined.lookup.mode;
    let policy = match default {
        // Where `Pin` writes a digest, it usually writes `IfNotPresent` too. If the default were
        // `Always` here, the next run could replace this `IfNotPresent`.
        DefaultPullPolicy::Always if has_digest && lookup == LookupMode::Pin => {
            PullPolicy::IfNotPresent
        }
        // An image that is looked up is meant to be pulled. Besides, if the default were `Never`
        // here, the next run could replace the `IfNotPresent` that `Pin` and `UseCached` write.
        DefaultPullPolicy::Never if lookup != LookupMode::Off => return None,
        default => default.resolve(has_digest),
    };
    Some((policy, setting))
}

/// The pull policy of a check that is raised or added: at least `needed`, the strongest pull policy
/// of the places that the check guards. `examined` is the raised check, or the place that the added
/// check guards. A second run would not change the result.
pub(crate) fn stable_check_policy(
    examined: &ExaminedPlace<'_>,
    needed: PullPolicy,
    settings: &Settings,
) -> PullPolicy {
    let image = examined.image_after();
    let counts_as_not_chosen =
        Reference::parse(&image).is_ok_and(|image| server_default(&image) == needed);
    let default = configured_default(examined, true, settings).filter(|_| counts_as_not_chosen);
    let mut policy = default.map_or(needed, |(policy, _)| policy.max(needed));
    if examined.uses_cached() {
        policy = policy.min(PullPolicy::IfNotPresent);
    }
    examined.limits.clamp(policy).max(needed)
}
