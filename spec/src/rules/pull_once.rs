//! **pull-once**: if an init container has pulled an image with `Always`, the app containers of this
//! image don't have to pull the image again. So their `Always` becomes `IfNotPresent`. A check volume
//! proves nothing here. This rule adds no finding. All modes compute it, and only `Fix` writes its result.

use crate::pod::{List, Pod};
use crate::policy::PullPolicy;

pub(crate) fn apply(pod: &mut Pod) {
    // The rule acts only in a Pod with image checks.
    if !pod.settings.pull_once() || !pod.has_checks() {
        return;
    }
    for container in pod.examined() {
        // *pull-once* changes only app containers, and none whose image `images.requireAlways` names.
        let image = pod.reference(container);
        if pod.places[container].list != List::Containers
            || pod.places[container].policy != PullPolicy::Always
            || image.is_none_or(|image| pod.settings.requires_always(&image))
        {
            continue;
        }
        let is_proved = pod.examined().into_iter().any(|proof| {
            pod.places[proof].policy == PullPolicy::Always
                && pod.is_plain_init(proof)
                && pod.serves(proof, container)
        });
        if is_proved {
            pod.set_policy("pull-once", container, PullPolicy::IfNotPresent, false);
        }
    }
}
