//! **default**: if nobody chose a pull policy, the place gets the configured default. This applies
//! to every entry of `containers`, `initContainers`, `ephemeralContainers` and `volumes[].image`.
//!
//! **Decided**: *disallowed-policy* reports a default that replaces a forbidden pull policy, and a
//! default that is clamped. If `requireAlways` and `forbidAlways` both name an image, that is a
//! conflict, and the default of the image still applies. A place whose image reference can't be
//! parsed gets no default.

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
        // A forbidden default is clamped to `IfNotPresent`. *disallowed-policy* reports this.
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

/// Whether *disallowed-policy* reports the change of a place: `requireAlways` names the image, or
/// the pull policy of the place is forbidden.
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

/// Whether *invalid-image* reports the place.
fn has_no_repair(pod: &Pod, place: usize) -> bool {
    pod.reference(place).is_none()
}

/// Whether the pull policy counts as chosen by an author.
fn is_chosen(pod: &Pod, place: usize) -> bool {
    let policy = pod.places[place].policy;
    // A pull policy equal to the server default counts as not chosen.
    let is_server_default = pod.settings.replace_server_defaults()
        && policy == server_default(&pod.places[place].image);
    pod.places[place].is_policy_written() && !is_server_default
}

/// The configured default of an image, after all settings that limit a default. `None` if the image
/// has no default.
pub(crate) fn configured(settings: Settings, image: &str, is_check: bool) -> Option<PullPolicy> {
    let reference = Reference::parse(image);
    let digest = reference
        .as_ref()
        .is_some_and(|image| image.digest.is_some());
    let default = match settings.default_policy(is_check)? {
        // The default is `Always` for a tag, and `IfNotPresent` for a digest.
        "AlwaysUnlessDigest" if digest => PullPolicy::IfNotPresent,
        "AlwaysUnlessDigest" => PullPolicy::Always,
        name => PullPolicy::read(name)?,
    };
    let Some(image) = reference else {
        return Some(default);
    };
    let lookup = settings.lookup(&image);
    // If both settings name the image, only this conflict is reported.
    let is_contradicted = settings.requires_always(&image) && settings.forbids_always(&image);
    match default {
        // A default `Never` doesn't apply to looked-up images.
        PullPolicy::Never if lookup != "Off" => None,
        // A forbidden default is clamped to `IfNotPresent`.
        PullPolicy::Never if settings.forbids_never(&image) && !is_contradicted => {
            Some(PullPolicy::IfNotPresent)
        }
        PullPolicy::Always
            if settings.forbids_always(&image) && !settings.requires_always(&image) =>
        {
            Some(PullPolicy::IfNotPresent)
        }
        // Under `Pin`, a default `Always` becomes `IfNotPresent` for digests.
        PullPolicy::Always if lookup == "Pin" && digest => Some(PullPolicy::IfNotPresent),
        default => Some(default),
    }
}

/// Whether a place keeps its pull policy although the default is a different one. This policy may
/// have written the pull policy in an earlier run.
pub(crate) fn stands(pod: &Pod, place: usize, default: PullPolicy) -> bool {
    let policy = pod.places[place].policy;
    // A default doesn't lower a pull policy that *pull-once* relies on.
    default < policy && is_half_of_pull_once(pod, place)
        // If an effective `on…` setting is `UseCached`, the copy accepts `IfNotPresent` on a
        // looked-up tag. *default* and *weak-check* then don't report it.
        || pod.may_be_cached(place)
        // A registry's answer may have shown that two references are the same image. In this case
        // *pull-once* may have lowered this pull policy.
        || pod.is_lenient && pod.may_be_pulled_first(place)
}

/// Whether *pull-once* may have left this place as it is: as a check with `Always`, or as a container
/// with `IfNotPresent` that has such a check.
///
/// **Decided**: the pull policies of the admission request decide this.
fn is_half_of_pull_once(pod: &Pod, place: usize) -> bool {
    let is_left = |container: usize, proof: usize| {
        let (Some(pulled), Some(proved)) = (pod.reference(container), pod.reference(proof)) else {
            return false;
        };
        pod.guarded().contains(&container)
            && pod.places[container].policy == PullPolicy::IfNotPresent
            && !pod.settings.requires_always(&pulled)
            // A default will raise the container. Without image checks, *pull-once* will not lower
            // it again.
            && (pod.has_checks() || !will_be_raised(pod, container))
            && pod.places[proof].policy == PullPolicy::Always
            && !pod.settings.forbids_always(&proved)
            && !will_be_pinned(pod, proof)
            // The check volume must be mounted on an init container, because a volume that only app
            // containers mount saves no pull. It doesn't matter whether the container mounts the
            // volume too.
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

/// Whether `Pin` will write the digest from a lookup, together with `IfNotPresent`.
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
