//! *pull-once*: in a Pod with image checks, a container whose image an init container (a check, a
//! native sidecar or any other) has pulled with `Always` doesn't ask the registry again.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a
//! second later can't hang the job. The change corrects no mistake, so it is no finding.
//!
//! A check volume doesn't count: another webhook that writes the Pod with older types drops the
//! volume's `image` without a word, and a lowered container would then run an old image that nobody
//! asked for.

use crate::image::PullPolicy::Always;
use crate::pod::{Entry, List, Pod, What};

const RULE: &str = "pull-once";

/// Replaces `Always` with `IfNotPresent` in the containers that start after an init container with
/// the same image and `Always`. `images` has the positions of the pulls with each image.
pub fn lower(pod: &mut Pod, images: &[Vec<usize>]) {
    if !pod.settings.pull_once || !pod.has_checks() {
        return;
    }
    for pulls in images {
        let asking = pod
            .at(pulls)
            .filter(|pull| pull.list == List::InitContainers && pull.policy == Always);
        let Some(asked) = asking.map(|pull| pull.moment).min() else {
            continue;
        };
        for index in pulls {
            if let Some(pull) = pod.pulls.get_mut(*index)
                && pull.moment > asked
                && !pull.is_check
                && pull.list != List::Volumes
                && pull.lower()
            {
                pod.entries.push(Entry::silent(RULE, *index, What::Policy));
            }
        }
    }
}
