//! *default*: a container or image volume whose author chose no pull policy gets the configured
//! default.
//!
//! A webhook never sees an unset pull policy, because the API server fills it in first. So a pull
//! policy that equals the server default counts as not chosen. A forbidden pull policy never counts as
//! chosen.
//!
//! This policy sees its own output again: for example in the copy, in an audit, and in a Pod that a
//! controller makes from a repaired pod template. It then can't distinguish the author's choice,
//! the server default and its own repair. The record has this information, but anybody can write
//! a record. So all rules follow one principle for the values of a request: **a rule keeps a
//! value that another rule may have written.**

use std::collections::BTreeSet;

use crate::examination::Examination;
use crate::examination::place::{DigestOfTag, ExaminedPlace, Role, Spelling, server_default};
use crate::examination::possibly_same_images::may_have_got_digest_later;
use crate::findings::Reason;
use crate::image::Reference;
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::settings::{DefaultPullPolicy, LookupMode, Settings};

/// Sets the defaults.
pub(crate) fn set_defaults(examination: &mut Examination<'_>) {
    let settings = examination.settings;
    let request_type = examination.object.request_type;
    let has_image_checks = examination.has_image_checks();
    let part = |examined: &ExaminedPlace<'_>| {
        part_of_pull_once(examined, request_type, has_image_checks, settings)
    };
    let places = examination.places.iter();
    let parts: BTreeSet<(Spelling, PullOncePart)> = places
        .filter_map(|examined| Some((examined.spelling, part(examined)?)))
        .collect();
    // A default must not weaken what *pull-once* has left. If it weakened the place with `Always`, all
    // places would use the cached image, and no registry would be asked.
    let is_left_by_pull_once = |examined: &ExaminedPlace<'_>| {
        let has = |part| parts.contains(&(examined.spelling, part));
        has(PullOncePart::Puller) && has(PullOncePart::Spared) && part(examined).is_some()
    };
    let unknown_answers = examination.answers_unknown_to_the_copy();
    for examined in &mut examination.places {
        if examined.uses_cached()
            || is_chosen(examined)
            || may_have_got_digest_later(examined, settings)
        {
            continue;
        }
        let is_check = examined.role == Role::ImageCheck;
        let Some((policy, setting)) = configured_default(examined, is_check, settings) else {
            continue;
        };
        let would_undo_pull_once = policy < examined.policy && is_left_by_pull_once(examined);
        let unknown_answers = unknown_answers.as_ref();
        if would_undo_pull_once
            || unknown_answers.is_some_and(|answers| answers.may_join(&examined.reference))
        {
            continue;
        }
        let disallowed = examined.limits.forbidding(examined.policy);
        let reason = disallowed.map_or(Reason::Default(setting), Reason::DisallowedPolicy);
        examined.set_policy(policy, reason);
    }
}

/// The part that a place has in what *pull-once* leaves of the pulls of one image, written alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PullOncePart {
    /// A check or another init container with `Always`.
    Puller,
    /// A guarded place with `IfNotPresent`.
    Spared,
    /// A check volume with `Always`. *weak-check* may have raised it before *pull-once* ran.
    StrongVolume,
}

/// The part that a place has if an earlier run of *pull-once* has left it.
fn part_of_pull_once(
    examined: &ExaminedPlace<'_>,
    request_type: RequestType,
    has_image_checks: bool,
    settings: &Settings,
) -> Option<PullOncePart> {
    let limits = &examined.limits;
    let is_left = settings.pull_once
        && match (examined.policy_before(), examined.role) {
            (PullPolicy::Always, Role::ImageCheck | Role::InitContainer) => {
                limits.forbid_always.is_none() && !will_be_pinned(examined, request_type)
            }
            (PullPolicy::IfNotPresent, Role::Guarded) => {
                limits.require_always.is_none()
                    && (has_image_checks || !will_be_raised(examined, settings))
            }
            _ => false,
        };
    is_left.then_some(match examined.role {
        Role::Guarded => PullOncePart::Spared,
        _ if examined.is_init_container() => PullOncePart::Puller,
        _ => PullOncePart::StrongVolume,
    })
}

/// Whether `Pin` will write a digest into the image and set `IfNotPresent`.
fn will_be_pinned(examined: &ExaminedPlace<'_>, request_type: RequestType) -> bool {
    matches!(examined.digest, DigestOfTag::Resolved(_))
        && !examined.has_digest()
        && examined.lookup.mode == LookupMode::Pin
        && examined.limits.require_always.is_none()
        && !request_type.is_template()
}

/// Whether a default will raise the place to `Always`. It does not if `images.forbidAlways` matches the
/// image. In a Pod with image checks, this function is not called, because *pull-once* may lower the place
/// again.
fn will_be_raised(examined: &ExaminedPlace<'_>, settings: &Settings) -> bool {
    !is_chosen(examined)
        && examined.limits.forbid_always.is_none()
        && configured_default(examined, false, settings)
            .is_some_and(|(policy, _)| policy == PullPolicy::Always)
}

/// Whether the author chose the pull policy. A pull policy that equals the server default counts
/// as not chosen. A forbidden pull policy also counts as not chosen, so that *default* can replace it
/// before *disallowed-policy* does. Otherwise the next run could write the default over the pull policy
/// that *disallowed-policy* has set.
fn is_chosen(examined: &ExaminedPlace<'_>) -> bool {
    examined.place.policy.is_some_and(|policy| {
        policy != server_default(&examined.reference)
            && examined.limits.forbidding(policy).is_none()
    })
}

/// The configured default of a place, and the setting that it comes from. None if no default is set for the
/// place, or if the default is `Never` and the settings select the image for lookups.
fn configured_default(
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
