//! **pull-once**: if an init container has pulled an image with `Always`, the app containers of
//! this image don't have to pull it again. So their `Always` becomes `IfNotPresent`. This change is
//! never a finding.

use crate::pod::{List, Pod};
use crate::policy::PullPolicy;

pub(crate) fn apply(pod: &mut Pod) {
    // The rule acts only in a Pod with image checks.
    if !pod.settings.pull_once() || !pod.has_checks() {
        return;
    }
    for container in pod.examined() {
        // *pull-once* doesn't change image volumes.
        if pod.places[container].list != List::Containers
            || pod.places[container].policy != PullPolicy::Always
        {
            continue;
        }
        let Some(image) = pod.reference(container) else {
            continue;
        };
        // *pull-once* never changes images that `images.requireAlways` names.
        if pod.settings.requires_always(&image) {
            continue;
        }
        let is_proved = pod.examined().into_iter().any(|proof| {
            pod.places[proof].policy == PullPolicy::Always && pod.proves(proof, container)
        });
        if is_proved {
            // *pull-once* is computed in all modes and written in `Fix`. **Decided**: if a
            // forbidden `Never` was replaced with `Always`, and *pull-once* lowers this `Always`,
            // the change is still the finding about `Never`.
            let rule = if pod.places[container].policy_before() == PullPolicy::Never {
                pod.places[container].policy_rule
            } else {
                "pull-once"
            };
            pod.set_policy(rule, container, PullPolicy::IfNotPresent, false);
        }
    }
}
