//! The image checks that this policy adds to a Pod.

use serde_json::Value;

use super::start_order::Moment;
use crate::image::PullPolicy;
use crate::pod::List;

#[derive(Debug)]
pub(crate) struct Additions {
    /// The list that gets them.
    pub(crate) list: List,
    /// The index of the first of them in this list.
    pub(crate) first: usize,
    /// The checks, in their order.
    pub(crate) checks: Vec<Check>,
    /// Their entries in the returned object.
    pub(crate) entries: Vec<Value>,
    /// The indexes of the places that mount them, if they are image volumes.
    pub(crate) mounted_by: Vec<usize>,
    /// Their mounts, if they are image volumes.
    pub(crate) mounts: Vec<Value>,
}

/// An added check.
#[derive(Debug)]
pub(crate) struct Check {
    /// The position of its image in the list of all images. Later checks have greater ones.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) policy: PullPolicy,
}

impl Additions {
    /// The first moment of which all places start after the added check of an image, if this check
    /// is an init container with `Always`. `number` is the position of the image.
    pub(crate) fn asked_before(&self, number: usize) -> Option<Moment> {
        let found = self
            .checks
            .binary_search_by_key(&number, |check| check.number);
        let check = self.checks.get(found.ok()?)?;
        let is_asked = self.list == List::InitContainers && check.policy == PullPolicy::Always;
        is_asked.then(|| Moment::after_inserted(self.first))
    }
}
