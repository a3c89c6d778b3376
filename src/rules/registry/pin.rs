//! What *registry* does with digests: it pins tags, and keeps the digests that are there.
//!
//! A pinned image gets `IfNotPresent`: a node then pulls exactly when the digest has changed, and a
//! check and its containers can't get different contents. KEP-5497 discusses a pull policy with
//! which the kubelet itself would pull only if the digest has changed.

use super::images::RULE;
use crate::image::PullPolicy::{Always, IfNotPresent, Never};
use crate::image::{Reference, is_digest};
use crate::pod::{Entry, Pod, Pull, Sentence, What};
use crate::request::Operation;
use crate::sanitize::sanitize;

/// Writes the digest into these pulls of an image, and sets their pull policies, unless they are
/// `Never`.
pub fn pin(pod: &mut Pod<'_>, pulls: &[usize], digest: &str) {
    let may_set = pod.request.operation.may_set_policies();
    for index in pulls {
        let Some(pull) = pod.pulls.get_mut(*index) else {
            continue;
        };
        pull.new_image = Some([&*pull.same_image(), "@", digest].concat());
        pod.entries
            .push(Entry::new(RULE, *index, What::Image, by_tag));
        let policy = match pull.settings.require_always {
            _ if !may_set || pull.policy == Never => pull.policy,
            Some(_) => Always,
            None => IfNotPresent,
        };
        if policy != pull.policy {
            pull.policy = policy;
            pod.entries.push(Entry::silent(RULE, *index, What::Policy));
        }
    }
}

fn by_tag(pull: &Pull<'_>, image: &str) -> Sentence {
    // The middle of a long text is cut, so the digest stays whole.
    let (pinned, policy) = (sanitize(pull.image()), pull.policy.as_str());
    Sentence {
        problem: format!("{} pulls {image} by its tag", pull.label()),
        help: format!("set its image to {pinned} with {policy}"),
        repaired: None,
    }
}

/// Replaces `Always` where the image has a digest, because its content can't change. Nodes up to
/// Kubernetes 1.36 ask for an image volume with `Always` again and again.
pub fn lower_policies(pod: &mut Pod<'_>) {
    let has_digest = |image: Reference<'_>| image.digest().is_some();
    for pull in pod.pulls.iter_mut().filter(|pull| pull.is_examined()) {
        if pull.reference.is_ok_and(has_digest) && pull.settings.is_looked_up && pull.lower() {
            pod.entries.push(Entry::new(
                RULE,
                pull.position,
                What::Policy,
                |pull, image| Sentence {
                    problem: format!(
                        "{} but its digest always names the same content",
                        pull.pulls(image)
                    ),
                    help: pull.advice(),
                    repaired: None,
                },
            ));
        }
    }
}

/// At the UPDATE of a Pod, gives the stored image back to each container whose new image is the tag
/// of the stored one. A second `kubectl apply` and syncers such as vcluster's write the tag again.
/// Another digest, or in an outage none, would restart a container that runs.
///
/// The container doesn't change then, so no later rule examines it.
pub fn restore(pod: &mut Pod<'_>) {
    if !pod.settings.registry.lookup.pins() || pod.request.operation != Operation::PodUpdate {
        return;
    }
    for pull in pod.pulls.iter_mut().filter(|pull| pull.is_examined()) {
        if let Some(stored) = pull.stored_image
            && pull.settings.is_looked_up
            && has_lost_digest(pull, stored)
        {
            pull.new_image = Some(stored.to_owned());
            pull.is_new = false;
            pod.entries
                .push(Entry::new(RULE, pull.position, What::Image, lost_digest));
        }
    }
}

/// Whether the stored image is the image of this pull with a digest.
fn has_lost_digest(pull: &Pull<'_>, stored: &str) -> bool {
    let image = pull.same_image();
    let digest = stored
        .strip_prefix(&*image)
        .and_then(|rest| rest.strip_prefix('@'));
    !image.contains('@') && digest.is_some_and(is_digest)
}

fn lost_digest(pull: &Pull<'_>, image: &str) -> Sentence {
    let name = pull.label();
    Sentence {
        problem: format!(
            "{name} gets {image} without the digest of its stored image, so it would start again"
        ),
        help: format!("set its image to {}", sanitize(pull.image())),
        repaired: None,
    }
}
