//! *stale-check*: an image check whose image nothing else in the Pod has. The Pod waits for an
//! image that it doesn't use.
//!
//! `kubectl set image` changes the image of a container, and not that of its check. A controller
//! writes checks before a patch replaces an image. A node that reboots runs init containers again,
//! so a check that has passed once can still hold up the Pod.

use std::collections::BTreeSet;

use crate::pod::{Entry, List, Pod, Pull, Sentence, What};
use crate::request::Operation;

const RULE: &str = "stale-check";

/// Warns of each check whose image no pull that is no check has, neither as it came in nor now.
pub fn report(pod: &mut Pod) {
    if !pod.has_checks() {
        return;
    }
    let others = || pod.pulls.iter().filter(|pull| !pull.is_check);
    let mut images = BTreeSet::new();
    images.extend(others().map(Pull::same_image));
    let changed = others().filter(|pull| pull.new_image.is_some());
    let mut before = BTreeSet::new();
    before.extend(changed.map(Pull::same_image_before));
    let is_used = |image: &str| images.contains(image) || before.contains(image);
    let is_update = pod.request.operation == Operation::PodUpdate;
    let is_stored = |pull: &&Pull| pull.is_check && pull.added.is_none();
    for check in pod.pulls.iter().filter(is_stored) {
        let image = check.same_image();
        // In an earlier run, *registry* may have pinned the check and not the container.
        let tag = image.split_once('@').map(|(tag, _)| tag);
        if !is_used(&image)
            && !is_used(&check.same_image_before())
            && !tag.is_some_and(|tag| images.contains(tag))
        {
            let sentence = move |pull: &Pull, image: &str| sentence(pull, image, is_update);
            pod.entries.push(Entry {
                is_warning: true,
                ..Entry::new(RULE, check.position, What::WrongImage, sentence)
            });
        }
    }
}

fn sentence(pull: &Pull, image: &str, is_update: bool) -> Sentence {
    let name = pull.label();
    Sentence {
        problem: format!("{name} pulls {image}, which nothing else in the Pod names in this way"),
        help: match pull.list {
            _ if !is_update => "write both alike, or take the check out".to_owned(),
            List::Volumes => "create the Pod anew, because its volumes can't change".to_owned(),
            _ => format!("change the image of {name} too"),
        },
        repaired: None,
    }
}
