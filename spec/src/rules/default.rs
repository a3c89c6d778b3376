//! **default**: if the author of a place chose no pull policy, the place gets the configured default.
//! The rule works on examined entries of `containers`, `initContainers`, `ephemeralContainers` and
//! `volumes`.
//!
//! **Decided**: *disallowed-policy* reports a default that replaces a forbidden pull policy, and a
//! forbidden default that becomes `IfNotPresent`. If `requireAlways` and `forbidAlways` both name
//! an image, that is a conflict, and the default of the image still applies. A place whose image
//! reference can't be parsed, or is an image ID, gets no default.

use crate::image::Reference;
use crate::pod::{Pod, RequestKind};
use crate::policy::{PullPolicy, server_default};
use crate::settings::Settings;

pub(crate) fn apply(pod: &mut Pod) {
    let wanted: Vec<(usize, PullPolicy)> = pod
        .examined()
        .into_iter()
        .filter(|&place| !is_chosen(pod, place) && !has_no_repair(pod, place))
        .filter_map(|place| {
            let default = configured(pod.settings, &pod.places[place].image, pod.is_check(place))?;
            if is_told_by_disallowed_policy(pod, place, default) {
                return None;
            }
            (!stands(pod, place, default)).then_some((place, default))
        })
        .collect();
    for (place, default) in wanted {
        // `IfNotPresent` replaces a default that a setting forbids for the image. *disallowed-policy*
        // reports this change.
        let written = pod.settings.default_policy(pod.is_check(place));
        let is_clamped = pod.reference(place).is_some_and(|image| {
            let written = written
                .and_then(PullPolicy::read)
                .unwrap_or(PullPolicy::Always);
            default == PullPolicy::IfNotPresent && is_forbidden(pod.settings, &image, written)
        });
        let rule = if is_clamped {
            "disallowed-policy"
        } else {
            "default"
        };
        pod.set_policy(rule, place, default, true);
    }
}

/// Whether *disallowed-policy*, instead of *default*, changes a place and reports the change. It does
/// if the pull policy of the place is forbidden. It also does if `requireAlways` names the image,
/// `forbidAlways` doesn't name it, and the default is weaker than `Always`.
fn is_told_by_disallowed_policy(pod: &Pod, place: usize, default: PullPolicy) -> bool {
    pod.reference(place).is_some_and(|image| {
        let is_forbidden_as_well = pod.settings.forbids_always(&image);
        default != PullPolicy::Always
            && pod.settings.requires_always(&image)
            && !is_forbidden_as_well
            || is_forbidden(pod.settings, &image, pod.places[place].policy)
    })
}

/// Whether `images.forbidAlways` or `images.forbidNever` forbids this pull policy for this image.
pub(crate) fn is_forbidden(settings: Settings, image: &Reference, policy: PullPolicy) -> bool {
    policy == PullPolicy::Always && settings.forbids_always(image)
        || policy == PullPolicy::Never && settings.forbids_never(image)
}

/// Whether the image reference of a place can't be parsed, or is an image ID.
fn has_no_repair(pod: &Pod, place: usize) -> bool {
    pod.reference(place).is_none()
}

/// Whether the pull policy of a place counts as chosen by the author.
fn is_chosen(pod: &Pod, place: usize) -> bool {
    let policy = pod.places[place].policy;
    // A pull policy that equals the server default counts as not chosen.
    let is_server_default = policy == server_default(&pod.places[place].image);
    pod.places[place].is_policy_written() && !is_server_default
}

/// The default that an image gets. The settings `lookup`, `forbidNever` and `forbidAlways` can change
/// the configured default. `None` if no default applies to the image.
pub(crate) fn configured(settings: Settings, image: &str, is_check: bool) -> Option<PullPolicy> {
    let reference = Reference::parse(image);
    let digest = reference
        .as_ref()
        .is_some_and(|image| image.digest.is_some());
    let default = match settings.default_policy(is_check)? {
        // `AlwaysUnlessDigest` means `IfNotPresent` for an image with a digest, else `Always`.
        "AlwaysUnlessDigest" if digest => PullPolicy::IfNotPresent,
        "AlwaysUnlessDigest" => PullPolicy::Always,
        name => PullPolicy::read(name)?,
    };
    let Some(image) = reference else {
        return Some(default);
    };
    let lookup = settings.lookup(&image);
    // If `requireAlways` and `forbidAlways` both name the image, only this conflict is reported. So
    // in this case `IfNotPresent` doesn't replace a forbidden default.
    let is_contradicted = settings.requires_always(&image) && settings.forbids_always(&image);
    match default {
        // A default `Never` doesn't apply to images whose effective `lookup` is `Pin` or `Verify`.
        PullPolicy::Never if lookup != "Off" => None,
        // `IfNotPresent` replaces a forbidden default.
        PullPolicy::Never if settings.forbids_never(&image) && !is_contradicted => {
            Some(PullPolicy::IfNotPresent)
        }
        PullPolicy::Always
            if settings.forbids_always(&image) && !settings.requires_always(&image) =>
        {
            Some(PullPolicy::IfNotPresent)
        }
        // Under `Pin`, a default `Always` becomes `IfNotPresent` for an image with a digest.
        PullPolicy::Always if lookup == "Pin" && digest => Some(PullPolicy::IfNotPresent),
        default => Some(default),
    }
}

/// Whether a place keeps its pull policy although the default is different. It does if an earlier run
/// of this policy may have written its pull policy, or may have relied on it.
pub(crate) fn stands(pod: &Pod, place: usize, default: PullPolicy) -> bool {
    let policy = pod.places[place].policy;
    // A default doesn't lower a pull policy that *pull-once* may have written, or on which it relies.
    default < policy && is_half_of_pull_once(pod, place)
        // In the copy, *default* and *weak-check* don't report an `IfNotPresent` that `UseCached`
        // may have written.
        || pod.may_be_cached(place)
        // In the copy, another webhook may have added the image's digest after the default was written.
        || pod.may_have_got_digest_later(place)
        // A registry's answer to the first installation may have shown that two references are the
        // same image. So another rule may have written this pull policy, and the copy accepts it.
        || pod.is_lenient && pod.may_be_pulled_first(place)
}

/// Whether a place belongs to a pair of places that *pull-once* may have produced. One place of the
/// pair is a check or another init container, with `Always`. The other place is guarded, has
/// `IfNotPresent`, and has the image that the first place pulls. A check volume of this image with `Always`
/// belongs to the pair too: *weak-check* may have raised it before *pull-once* ran.
///
/// **Decided**: the places are compared with the pull policies that they have before *weak-check* and
/// *pull-once* run.
fn is_half_of_pull_once(pod: &Pod, place: usize) -> bool {
    let is_left = |container: usize, proof: usize| {
        let (Some(pulled), Some(proved)) = (pod.reference(container), pod.reference(proof)) else {
            return false;
        };
        pod.guarded().contains(&container)
            && pod.places[container].policy == PullPolicy::IfNotPresent
            && !pod.settings.requires_always(&pulled)
            // *pull-once* acts only in a Pod with image checks. In a Pod without them, it doesn't lower
            // a container again that a default raises.
            && (pod.has_checks() || !will_be_raised(pod, container))
            && pod.places[proof].policy == PullPolicy::Always
            && !pod.settings.forbids_always(&proved)
            && !will_be_pinned(pod, proof)
            && pod.serves(proof, container)
    };
    let is_pair =
        |container: usize, proof: usize| is_left(container, proof) && pod.is_plain_init(proof);
    let is_check_of = |container: usize| pod.is_check(place) && is_left(container, place);
    let others = || pod.examined().into_iter();
    pod.settings.pull_once()
        && others().any(|other| {
            is_pair(place, other)
                || is_pair(other, place)
                || is_check_of(other) && others().any(|proof| is_pair(other, proof))
        })
}

/// Whether `Pin` will write the digest of a lookup, and `IfNotPresent`, into a place.
fn will_be_pinned(pod: &Pod, place: usize) -> bool {
    pod.reference(place).is_some_and(|image| {
        image.digest.is_none()
            && image
                .name_and_tag()
                .is_some_and(|name| pod.lookups.digests.contains_key(&name))
            && pod.settings.lookup(&image) == "Pin"
            && !pod.settings.requires_always(&image)
            && pod.request_kind != RequestKind::Template
    })
}

fn will_be_raised(pod: &Pod, place: usize) -> bool {
    let default = configured(pod.settings, &pod.places[place].image, false);
    !is_chosen(pod, place) && default == Some(PullPolicy::Always)
}
