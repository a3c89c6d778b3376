//! **pull-once**: "once an init container has pulled an image with `Always`, the containers that it
//! covers need not pull it again, so their `Always` becomes `IfNotPresent`". "Never reported as a
//! finding."

use crate::pod::{List, Pod};
use crate::policy::PullPolicy;

pub(crate) fn apply(pod: &mut Pod) {
    // "in a Pod with image checks"
    if !pod.settings.pull_once() || !pod.has_checks() {
        return;
    }
    for container in pod.examined() {
        // "*pull-once* leaves [a guarded image volume] alone"
        if pod.places[container].list != List::Containers
            || pod.places[container].policy != PullPolicy::Always
        {
            continue;
        }
        let Some(image) = pod.reference(container) else {
            continue;
        };
        // "Never for images that `images.requireAlways` names."
        if pod.settings.requires_always(&image) {
            continue;
        }
        let is_proved = pod.examined().into_iter().any(|proof| {
            pod.places[proof].policy == PullPolicy::Always && pod.proves(proof, container)
        });
        if is_proved {
            // "pull-once is computed in all modes and written in `Fix`". **Decided**: a forbidden
            // `Never` stays a finding if *pull-once* lowers the default that replaced it.
            let rule = if pod.places[container].policy_before() == PullPolicy::Never {
                pod.places[container].policy_rule
            } else {
                "pull-once"
            };
            pod.set_policy(rule, container, PullPolicy::IfNotPresent, false);
        }
    }
}
