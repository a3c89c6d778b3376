//! *default*: a container or image volume whose author chose no pull policy gets the configured
//! default.
//!
//! A webhook never sees an unset pull policy, because the API server fills it in first. So a pull
//! policy that equals the server default counts as not chosen. A forbidden pull policy never counts as
//! chosen.

use std::collections::BTreeMap;

use super::configured_default::{configured_default, is_chosen};
use crate::examination::Examination;
use crate::examination::place::{ExaminedPlace, KnownDigest, Role};
use crate::examination::possible_lookup_answers::may_have_got_digest_later;
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
    let left_by_pull_once = if settings.pull_once {
        places_left_by_pull_once(examination)
    } else {
        Vec::new()
    };
    let unknown_answers = examination.answers_unknown_to_the_copy();
    let mut left_by_pull_once = left_by_pull_once.into_iter();
    for examined in &mut examination.places {
        let is_left_by_pull_once = left_by_pull_once.next().unwrap_or_default();
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
        let would_undo_pull_once = is_left_by_pull_once && policy < examined.policy;
        if would_undo_pull_once || unknown_answers.may_join(&examined.reference) {
            continue;
        }
        let disallowed = examined.limits.forbidding(examined.policy);
        let reason = disallowed.map_or(Reason::Default(setting), Reason::DisallowedPolicy);
        examined.set_policy(policy, reason);
    }
}

/// Whether an image in one spelling has the two places that *pull-once* leaves: a check or init
/// container with `Always`, and a guarded place with `IfNotPresent`.
#[derive(Clone, Copy, Default)]
struct PullOncePair {
    pulls_always: bool,
    is_spared: bool,
    /// Whether the place is a check volume with `Always`. *weak-check* may have raised it before
    /// *pull-once* ran. It is no part of the pair, but keeps its pull policy beside one.
    is_strong_volume: bool,
}

/// Returns for each place whether it belongs to a [`PullOncePair`]: an earlier run of *pull-once* may
/// have left this pair.
///
/// A default must not weaken a place of such a pair. If a default weakened the place with `Always`, both
/// places would use the cached image, and no registry would be asked.
fn places_left_by_pull_once(examination: &Examination<'_>) -> Vec<bool> {
    let images = examination.image_groups();
    let request_type = examination.object.request_type;
    let pair_of = |examined: &ExaminedPlace<'_>| {
        let policy = examined.policy_before();
        let keeps_always = policy == PullPolicy::Always
            && examined.limits.forbid_always.is_none()
            && !will_be_pinned(examined, request_type);
        PullOncePair {
            pulls_always: examined.is_init_container() && keeps_always,
            is_strong_volume: examined.role == Role::ImageCheck
                && !examined.is_init_container()
                && keeps_always,
            is_spared: examined.role == Role::Guarded
                && policy == PullPolicy::IfNotPresent
                && examined.limits.require_always.is_none()
                && (examination.has_image_checks
                    || !will_be_raised(examined, examination.settings)),
        }
    };
    let mut pairs: BTreeMap<usize, PullOncePair> = BTreeMap::new();
    for (examined, spelling) in examination.places.iter().zip(images.spellings()) {
        let own = pair_of(examined);
        let pair = pairs.entry(spelling).or_default();
        pair.pulls_always |= own.pulls_always;
        pair.is_spared |= own.is_spared;
    }
    let is_left = |(examined, spelling): (&ExaminedPlace<'_>, usize)| {
        let own = pair_of(examined);
        let pair = pairs.get(&spelling).copied().unwrap_or_default();
        let is_pair = pair.pulls_always && pair.is_spared;
        is_pair && (own.pulls_always || own.is_spared || own.is_strong_volume)
    };
    let places = examination.places.iter().zip(images.spellings());
    places.map(is_left).collect()
}

/// Whether `Pin` will write a digest into the image and set `IfNotPresent`.
fn will_be_pinned(examined: &ExaminedPlace<'_>, request_type: RequestType) -> bool {
    matches!(examined.digest, KnownDigest::Resolved(_))
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
