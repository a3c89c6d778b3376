//! What *registry* does with digests: it pins tags, and keeps the digests that are there.
//!
//! A pinned image gets `IfNotPresent`: a node then pulls exactly when the digest has changed, and a
//! check and its containers can't get different contents. KEP-5497 discusses a pull policy with
//! which the kubelet itself would pull only if the digest has changed.

use super::images::RULE;
use crate::entry::{Entry, Sentence, What};
use crate::image::PullPolicy::IfNotPresent;
use crate::image::is_digest;
use crate::pod::{Pod, Pull};
use crate::request::Operation;
use crate::sanitize::sanitize;

/// Writes the digest into these pulls of an image, and lowers their pull policies.
pub fn pin<'o>(pod: &mut Pod<'o>, entries: &mut Vec<Entry<'o>>, pulls: &[usize], digest: &str) {
    let may_set = pod.request.operation.may_set_policies();
    for index in pulls {
        let Some(pull) = pod.pulls.get_mut(*index) else {
            continue;
        };
        let pinned = [&*pull.same_image(), "@", digest].concat();
        pull.new_image = Some(pinned.clone());
        entries.push(Entry::new(RULE, *index, What::Image(pinned), by_tag));
        if may_set && pull.lower() {
            entries.push(Entry::silent(RULE, *index, What::Policy(IfNotPresent)));
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
pub fn lower_policies<'o>(pod: &mut Pod<'o>, entries: &mut Vec<Entry<'o>>) {
    for (index, pull) in pod.examined_mut() {
        let has_digest = pull.written_image.contains('@');
        if has_digest && pull.settings.is_looked_up && pull.lower() {
            let what = What::Policy(IfNotPresent);
            entries.push(Entry::new(RULE, index, what, |pull, image| Sentence {
                problem: format!(
                    "{} but its digest always names the same content",
                    pull.pulls(image)
                ),
                help: pull.advice(),
                repaired: None,
            }));
        }
    }
}

/// At the UPDATE of a Pod, gives the stored image back to each container whose new image is the tag
/// of the stored one. A second `kubectl apply` and syncers such as vcluster's write the tag again.
/// Another digest, or in an outage none, would restart a container that runs.
///
/// The container doesn't change then, so no later rule examines it.
pub fn restore<'o>(pod: &mut Pod<'o>) -> Vec<Entry<'o>> {
    let mut entries = Vec::new();
    if !pod.settings.registry.lookup.pins() || pod.request.operation != Operation::PodUpdate {
        return entries;
    }
    for (index, pull) in pod.examined_mut() {
        if let Some(stored) = pull.stored_image
            && let Some((image, digest)) = stored.split_once('@')
            && image == pull.same_image()
            && is_digest(digest)
            && pull.settings.is_looked_up
        {
            pull.new_image = Some(stored.to_owned());
            pull.is_new = false;
            let what = What::Image(stored.to_owned());
            entries.push(Entry::new(RULE, index, what, lost_digest));
        }
    }
    entries
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
