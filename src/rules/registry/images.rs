//! The images that *registry* looks up.

use std::collections::BTreeMap;

use crate::image::{PullPolicy, Reference};
use crate::pod::{List, Pod, Pull};
use crate::request::Operation;
use crate::settings::Lookup;

/// The id of the rule.
pub const RULE: &str = "registry";

/// An image to look up: what all spellings of one normalised name have in common.
pub struct Image<'o> {
    /// The position of its first pull, in the order in which images are looked up.
    number: usize,
    /// The first of the spellings.
    pub reference: Reference<'o>,
    /// Whether a Pod asks for the image, and not only its pod template.
    pub is_of_pods: bool,
    /// Whether a node asks its registry. No node does if every pull has `Never`.
    is_pulled: bool,
    /// The positions of its pulls.
    pub pulls: Vec<usize>,
}

/// The images to look up, in their order: containers come first. In a pod template, those come last
/// for which its Pods would not ask.
pub fn images<'o>(pod: &Pod<'o>) -> Vec<Image<'o>> {
    let lookup = pod.settings.registry.lookup;
    let mut pulls: Vec<&Pull<'o>> = pod.pulls.iter().collect();
    pulls.sort_by_key(|pull| pull.list != List::Containers);
    let mut images: BTreeMap<String, Image<'o>> = BTreeMap::new();
    for (number, pull) in pulls.into_iter().enumerate() {
        let Some(reference) = asked_reference(pull, lookup) else {
            continue;
        };
        let image = images.entry(reference.normalised()).or_insert(Image {
            number,
            reference,
            is_of_pods: lookup != Lookup::PinAlways,
            is_pulled: false,
            pulls: Vec::new(),
        });
        // At UPDATE, a pull that this policy has pinned has `IfNotPresent` in place of `Always`.
        let was_pinned = pull.stored_image.is_some_and(|image| image.contains('@'));
        image.is_of_pods |= pull.policy == PullPolicy::Always || was_pinned;
        image.is_pulled |= pull.policy != PullPolicy::Never;
        image.pulls.push(pull.position);
    }
    let is_template = pod.request.operation == Operation::Template;
    let images = images.into_values();
    let asked = images.filter(|image| image.is_pulled && (is_template || image.is_of_pods));
    let mut images: Vec<Image<'o>> = asked.collect();
    images.sort_by_key(|image| (!image.is_of_pods, image.number));
    images
}

/// The reference that is asked for. `Verify` asks for digests too, because a registry may have
/// deleted them.
fn asked_reference<'o>(pull: &Pull<'o>, lookup: Lookup) -> Option<Reference<'o>> {
    let reference = pull.reference.ok()?;
    let is_pinned = lookup.pins() && reference.digest.is_some();
    (pull.is_examined() && pull.settings.is_looked_up && !is_pinned).then_some(reference)
}
