//! What *registry* does with digests: it pins tags, and keeps the digests that are there.
//!
//! A pinned image gets `IfNotPresent`: a node then pulls exactly when the digest has changed, and a
//! check and its containers can't get different contents. KEP-5497 discusses a pull policy with
//! which the kubelet itself would pull only if the digest has changed.

use super::images::RULE;
use crate::image::is_digest;
use crate::pod::{Entry, Pod, Pull, Sentence, What};
use crate::request::Operation;
use crate::sanitize::sanitize;

/// Writes the digest into these pulls of an image, and lowers their pull policies.
pub fn pin(pod: &mut Pod, pulls: &[usize], digest: &str) {
    let may_set = pod.request.operation.may_set_policies();
    for index in pulls {
        let Some(pull) = pod.pulls.get_mut(*index) else {
            continue;
        };
        pull.new_image = Some([&*pull.same_image(), "@", digest].concat());
        pod.entries
            .push(Entry::new(RULE, *index, What::Image, by_tag));
        if may_set && pull.lower() {
            pod.entries.push(Entry::silent(RULE, *index, What::Policy));
        }
    }
}

fn by_tag(pull: &Pull, image: &str) -> Sentence {
    // The middle of a long text is cut, so the digest stays whole.
    let (pinned, policy) = (sanitize(pull.image()), pull.policy);
    Sentence {
        problem: format!("{} pulls {image} by its tag", pull.label()),
        help: format!("set its image to {pinned} with {policy}"),
        repaired: None,
    }
}

/// Replaces `Always` where the image has a digest, because its content can't change. Nodes up to
/// Kubernetes 1.36 ask for an image volume with `Always` again and again.
pub fn lower_policies(pod: &mut Pod) {
    for pull in pod.pulls.iter_mut().filter(|pull| pull.is_examined()) {
        let has_digest = pull.written_image.contains('@');
        if has_digest && pull.settings.is_looked_up && pull.lower() {
            pod.entries.push(Entry::new(
                RULE,
                pull.position,
                What::Policy,
                has_digest_already,
            ));
        }
    }
}

fn has_digest_already(pull: &Pull, image: &str) -> Sentence {
    let why = "its digest always names the same content";
    Sentence::of_policy(pull, image, why, None)
}

/// At the UPDATE of a Pod, gives the stored image back to each container whose new image is the tag
/// of the stored one. A second `kubectl apply` and syncers such as vcluster's write the tag again.
/// Another digest, or in an outage none, would restart a container that runs.
///
/// The container doesn't change then, so no later rule examines it.
pub fn restore(pod: &mut Pod) {
    if !pod.settings.registry.lookup.pins() || pod.request.operation != Operation::PodUpdate {
        return;
    }
    for pull in pod.pulls.iter_mut().filter(|pull| pull.is_examined()) {
        if let Some(stored) = pull.stored_image
            && let Some((image, digest)) = stored.split_once('@')
            && image == pull.same_image()
            && is_digest(digest)
            && pull.settings.is_looked_up
        {
            pull.new_image = Some(stored.to_owned());
            pull.is_new = false;
            pod.entries
                .push(Entry::new(RULE, pull.position, What::Image, lost_digest));
        }
    }
}

fn lost_digest(pull: &Pull, image: &str) -> Sentence {
    let name = pull.label();
    Sentence {
        problem: format!(
            "{name} gets {image} without the digest of its stored image, so it would start again"
        ),
        help: format!("set its image to {}", sanitize(pull.image())),
        repaired: None,
    }
}
