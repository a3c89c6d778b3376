//! *weak-check*: an image check has to be at least as strong as every pull with the same image that
//! starts after it, other image checks apart.
//!
//! A check with `IfNotPresent` passes if the node has an old image. A container with `Always` then
//! asks the registry. If the registry fails, the container hangs in `ImagePullBackOff`
//! (agent-stack-k8s#846). Each check is measured by itself, because each can pass on an old image.

use std::cmp::Reverse;

use crate::pod::{Entry, Pod, Sentence, What, strongest_after};

const RULE: &str = "weak-check";

/// Raises the checks that are too weak. `images` has the positions of the pulls with each image.
pub fn raise(pod: &mut Pod, images: &[Vec<usize>]) {
    for pulls in images {
        let (mut checks, others): (Vec<_>, Vec<_>) = pod.at(pulls).partition(|pull| pull.is_check);
        let strongest = others.iter().map(|pull| pull.policy).max();
        checks.retain(|check| Some(check.policy) < strongest);
        if checks.is_empty() {
            continue;
        }
        for (check, (needed, Reverse(strongest))) in strongest_after(&checks, &others) {
            let strongest = match (pod.pulls.get(check), pod.pulls.get(strongest)) {
                (Some(check), Some(strongest)) if check.policy < needed => {
                    strongest.label().into_owned()
                }
                _ => continue,
            };
            if let Some(pull) = pod.pulls.get_mut(check) {
                pull.policy = needed;
            }
            pod.entries
                .push(Entry::new(RULE, check, What::Policy, move |pull, image| {
                    let why = format!("{strongest} pulls it with {needed}");
                    let reason = format!(", as {strongest} needs");
                    Sentence::of_policy(pull, image, &why, Some(&reason))
                }));
        }
    }
}
