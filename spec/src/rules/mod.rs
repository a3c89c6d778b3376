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
use crate::pod::{Pod, RequestKind};

/// Runs the rules that apply to this kind of request.
pub(crate) fn apply(pod: &mut Pod, answers: &Answers) {
    invalid_image::apply(pod);
    disallowed_policy::apply(pod);
    if pod.request_kind != RequestKind::PodUpdate {
        default::apply(pod);
    }
    registry::keep_digests(pod);
    registry::apply(pod, answers);
    if matches!(
        pod.request_kind,
        RequestKind::PodUpdate | RequestKind::EphemeralContainers
    ) {
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
