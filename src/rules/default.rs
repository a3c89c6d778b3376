//! *default*: a container or image volume whose author chose no pull policy gets the configured
//! default.
//!
//! A webhook never sees an unset pull policy, because the API server fills it in first. So a pull
//! policy that equals the server default counts as not chosen. A forbidden pull policy never counts as
//! chosen.

use std::collections::BTreeSet;

use crate::examination::Examination;
use crate::examination::chosen_policy::{configured_default, is_chosen};
use crate::examination::images::Spelling;
use crate::examination::place::{DigestOfTag, ExaminedPlace, Role};
use crate::examination::possibly_same_images::may_have_got_digest_later;
use crate::findings::reason::Reason;
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::settings::{LookupMode, Settings};

/// Sets the defaults.
pub(crate) fn set_defaults(examination: &mut Examination<'_>) {
    let settings = examination.settings;
    let defaults = &settings.defaults;
    if !examination.object.request_type.may_change_pull_policy()
        || (defaults.image_pull_policy.is_none() && defaults.image_check_pull_policy.is_none())
    {
        return;
    }
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
        if would_undo_pull_once || unknown_answers.may_join(&examined.reference) {
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
