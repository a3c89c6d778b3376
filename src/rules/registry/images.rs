//! The images that *registry* looks up.

use std::collections::BTreeMap;

use crate::image::{PullPolicy, Reference};
use crate::pod::{List, Pod, Pull};
use crate::request::Operation;
use crate::settings::Lookup;

/// The id of the rule.
pub const RULE: &str = "registry";

/// The order in which images are looked up.
const ORDER: [List; 4] = [
    List::Containers,
    List::InitContainers,
    List::EphemeralContainers,
    List::Volumes,
];

/// An image to look up: what all spellings of one normalised name have in common.
pub struct Image<'o> {
    /// The first of the spellings.
    pub reference: Reference<'o>,
    /// The positions of its pulls.
    pub pulls: Vec<usize>,
    /// Whether a Pod asks for the image, and not only its pod template.
    pub is_of_pods: bool,
}

/// The images to look up, in their order. In a pod template, those come last for which its Pods
/// would not ask.
pub fn images<'o>(pod: &Pod<'o>, lookup: Lookup) -> Vec<Image<'o>> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut images: Vec<Image<'o>> = Vec::new();
    for list in ORDER {
        for pull in pod.pulls.iter().filter(|pull| pull.list == list) {
            let Some(reference) = asked_reference(pull, lookup) else {
                continue;
            };
            let number = *numbers
                .entry(reference.normalised())
                .or_insert(images.len());
            match images.get_mut(number) {
                Some(image) => image.pulls.push(pull.position),
                None => images.push(Image {
                    reference,
                    pulls: vec![pull.position],
                    is_of_pods: lookup != Lookup::PinAlways,
                }),
            }
        }
    }
    let is_template = pod.request.operation == Operation::Template;
    images.retain_mut(|image| {
        let pulls = || pod.at(&image.pulls);
        image.is_of_pods |= pulls().any(is_always);
        // If every pull has `Never`, no node asks the registry.
        pulls().any(|pull| pull.policy != PullPolicy::Never) && (is_template || image.is_of_pods)
    });
    images.sort_by_key(|image| !image.is_of_pods);
    images
}

/// Whether an image is pulled with `Always`. At UPDATE, a pull that this policy has pinned has
/// `IfNotPresent` in place of `Always`.
fn is_always(pull: &Pull<'_>) -> bool {
    let was_pinned = pull.stored_image.is_some_and(|image| image.contains('@'));
    pull.policy == PullPolicy::Always || was_pinned
}

/// The reference that is asked for. `Verify` asks for digests too, because a registry may have
/// deleted them.
fn asked_reference<'o>(pull: &Pull<'o>, lookup: Lookup) -> Option<Reference<'o>> {
    let reference = pull.reference.ok()?;
    let is_pinned = lookup.pins() && reference.digest().is_some();
    (pull.is_examined() && pull.settings.is_looked_up && !is_pinned).then_some(reference)
}
