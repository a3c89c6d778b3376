//! **pull-once**: if an init container has pulled an image with `Always`, the app containers of this
//! image don't have to pull the image again. So their `Always` becomes `IfNotPresent`. A check volume
//! proves nothing here. This rule adds no finding.

use crate::pod::{List, Pod};
use crate::policy::PullPolicy;

pub(crate) fn apply(pod: &mut Pod) {
    // The rule acts only in a Pod with image checks.
    if !pod.settings.pull_once() || !pod.has_checks() {
        return;
    }
    for container in pod.examined() {
        // *pull-once* changes only app containers.
        if pod.places[container].list != List::Containers
            || pod.places[container].policy != PullPolicy::Always
        {
            continue;
        }
        let Some(image) = pod.reference(container) else {
            continue;
        };
        // *pull-once* never changes a container whose image `images.requireAlways` names.
        if pod.settings.requires_always(&image) {
            continue;
        }
        let is_proved = pod.examined().into_iter().any(|proof| {
            pod.places[proof].policy == PullPolicy::Always
                && pod.is_plain_init(proof)
                && pod.serves(proof, container)
        });
        if is_proved {
            // All modes compute *pull-once*, and only `Fix` writes its result. **Decided**: another
            // rule may have replaced `Never` with the `Always` that *pull-once* lowers. In this case
            // the record still names that other rule for the change.
            let rule = if pod.places[container].policy_before() == PullPolicy::Never {
                pod.places[container].policy_rule
            } else {
                "pull-once"
            };
            pod.set_policy(rule, container, PullPolicy::IfNotPresent, false);
        }
    }
}
