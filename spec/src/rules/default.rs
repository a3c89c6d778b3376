//! **default**: "the policy of a container whose author chose none becomes the configured default,
//! in `containers`, `initContainers`, `ephemeralContainers` and `volumes[].image`. Every container,
//! not some of them."
//!
//! **Decided**: *disallowed-policy* reports a default that replaces a forbidden pull policy, and a
//! default that is clamped. An image that `requireAlways` and `forbidAlways` both name is a conflict,
//! and its default still applies. An image that can't be pulled gets no default.

use crate::image::Reference;
use crate::pod::{Event, Pod};
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
        // "a default that is forbidden is clamped": by *disallowed-policy*.
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

/// Where the default is not the reason for what comes out: an image that `requireAlways` names, or a
/// policy that a forbid takes away.
fn is_told_by_disallowed_policy(pod: &Pod, place: usize, default: PullPolicy) -> bool {
    pod.reference(place).is_some_and(|image| {
        let is_forbidden_as_well = pod.settings.forbids_always(&image);
        default != PullPolicy::Always
            && pod.settings.requires_always(&image)
            && !is_forbidden_as_well
            || is_forbidden(pod.settings, &image, pod.places[place].policy)
    })
}

/// Whether `images.forbidAlways` or `images.forbidNever` takes a policy away.
pub(crate) fn is_forbidden(settings: Settings, image: &Reference, policy: PullPolicy) -> bool {
    policy == PullPolicy::Always && settings.forbids_always(image)
        || policy == PullPolicy::Never && settings.forbids_never(image)
}

/// Whether *invalid-image* reports the place.
fn has_no_repair(pod: &Pod, place: usize) -> bool {
    pod.reference(place).is_none()
}

/// Whether an author chose the policy, as far as anybody can tell.
fn is_chosen(pod: &Pod, place: usize) -> bool {
    let policy = pod.places[place].policy;
    // "a policy equal to the server default counts as not chosen"
    let is_server_default = pod.settings.replace_server_defaults()
        && policy == server_default(&pod.places[place].image);
    pod.places[place].is_policy_written() && !is_server_default
}

/// The configured default of an image, after everything that bounds a default; `None` where there
/// is none.
pub(crate) fn configured(settings: Settings, image: &str, is_check: bool) -> Option<PullPolicy> {
    let reference = Reference::parse(image);
    let digest = reference
        .as_ref()
        .is_some_and(|image| image.digest.is_some());
    let default = match settings.default_policy(is_check)? {
        // "Always for a tag, IfNotPresent for a digest"
        "AlwaysUnlessDigest" if digest => PullPolicy::IfNotPresent,
        "AlwaysUnlessDigest" => PullPolicy::Always,
        name => PullPolicy::read(name)?,
    };
    let Some(image) = reference else {
        return Some(default);
    };
    let lookup = settings.lookup(&image);
    // Of such an image only the contradiction is told.
    let is_contradicted = settings.requires_always(&image) && settings.forbids_always(&image);
    match default {
        // "A default `Never` doesn't reach looked-up images"
        PullPolicy::Never if lookup != "Off" => None,
        // "a default that is forbidden is clamped to `IfNotPresent`"
        PullPolicy::Never if settings.forbids_never(&image) && !is_contradicted => {
            Some(PullPolicy::IfNotPresent)
        }
        PullPolicy::Always
            if settings.forbids_always(&image) && !settings.requires_always(&image) =>
        {
            Some(PullPolicy::IfNotPresent)
        }
        // "under `Pin` a default `Always` is `IfNotPresent` for digests"
        PullPolicy::Always if lookup == "Pin" && digest => Some(PullPolicy::IfNotPresent),
        default => Some(default),
    }
}

/// Whether a policy stays although the default is another one, since the policy may have written
/// it itself.
pub(crate) fn stands(pod: &Pod, place: usize, default: PullPolicy) -> bool {
    let policy = pod.places[place].policy;
    // "a default weakens neither half of what *pull-once* leaves"
    default < policy && is_half_of_pull_once(pod, place)
        // "where an effective `on…` is `UseCached`, `IfNotPresent` on a looked-up tag stands for
        // *default* and *weak-check*" in the copy
        || pod.may_be_cached(place)
        // The checks may have taken it back, once an answer told what is the same image.
        || pod.is_lenient && pod.may_be_pulled_first(place)
}

/// "what *pull-once* leaves (check with `Always`, container with `IfNotPresent`)"
///
/// **Decided**: this is read from the pull policies that came in.
fn is_half_of_pull_once(pod: &Pod, place: usize) -> bool {
    let is_left = |container: usize, proof: usize| {
        let (Some(pulled), Some(proved)) = (pod.reference(container), pod.reference(proof)) else {
            return false;
        };
        pod.guarded().contains(&container)
            && pod.places[container].policy == PullPolicy::IfNotPresent
            && !pod.settings.requires_always(&pulled)
            // A default is going to raise it, and without image checks nothing takes that back.
            && (pod.has_checks() || !will_be_raised(pod, container))
            && pod.places[proof].policy == PullPolicy::Always
            && !pod.settings.forbids_always(&proved)
            && !will_be_pinned(pod, proof)
            // Who mounts a volume itself isn't asked; but those that the app carries spare nobody a pull.
            && pod.serves(proof, container)
            && (pod.is_plain_init(proof)
                || pod.is_check(proof) && pod.is_on_init_container(proof))
    };
    pod.settings.pull_once()
        && pod
            .examined()
            .into_iter()
            .any(|other| is_left(place, other) || is_left(other, place))
}

/// Whether `Pin` is going to write the digest that a lookup gave, and `IfNotPresent` with it.
fn will_be_pinned(pod: &Pod, place: usize) -> bool {
    pod.reference(place).is_some_and(|image| {
        image.digest.is_none()
            && image
                .name_and_tag()
                .is_some_and(|name| pod.lookups.digests.contains_key(&name))
            && pod.settings.lookup(&image) == "Pin"
            && !pod.settings.requires_always(&image)
            && pod.event != Event::Template
    })
}

fn will_be_raised(pod: &Pod, place: usize) -> bool {
    let default = configured(pod.settings, &pod.places[place].image, false);
    !is_chosen(pod, place) && default == Some(PullPolicy::Always)
}
