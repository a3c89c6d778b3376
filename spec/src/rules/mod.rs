//! The rules, and the order in which `apply` runs them. Each rule works on the result of the rules
//! before it.

mod default;
mod disallowed_policy;
mod invalid_image;
pub(crate) mod missing_check;
mod outdated_check;
mod platform;
mod pull_once;
mod registry;
mod stuck_pull;
mod weak_check;

use crate::answers::Answers;
use crate::pod::{Event, Pod};

/// Runs the rules that apply to the Pod's event. `answers` is `None` if no lookup may be made.
pub(crate) fn apply(pod: &mut Pod, answers: Option<&Answers>) {
    invalid_image::apply(pod);
    if pod.event != Event::PodUpdate {
        default::apply(pod);
    }
    disallowed_policy::apply(pod);
    registry::keep_digests(pod);
    if let Some(answers) = answers {
        registry::apply(pod, answers);
    }
    if matches!(pod.event, Event::PodUpdate | Event::EphemeralContainers) {
        outdated_check::apply(pod);
        return;
    }
    weak_check::apply(pod);
    pull_once::apply(pod);
    missing_check::apply(pod);
    // *missing-check* may have added a check. *pull-once* runs again, because the added check may
    // pull the image of a container before the container does.
    pull_once::apply(pod);
    stuck_pull::apply(pod);
}
