//! *invalid-image*: a reference that can't be parsed, or that is an image ID, is a finding without
//! a repair.
//!
//! The kubelet would say `InvalidImageName` long after the Pod was accepted, and the API server
//! fills in a pull policy that has nothing to do with the image. An image ID is worse: containerd
//! takes it for an image that lies on the node, past every registry and every rule for one.

use super::{Cause, Field, Problem, Rule, Told};
use crate::image::InvalidReference;
use crate::pod::Place;
use crate::request::Event;
use crate::sentence::Names;

/// The finding for an image that can't be parsed. An empty one in a template is left to the API
/// server: whatever makes Pods from the template may fill it in.
#[must_use]
pub fn finding<'p>(
    event: Event,
    place: &'p Place<'p>,
    invalid: InvalidReference,
) -> Option<Problem<'p>> {
    let left_to_the_api_server = event.is_template() && invalid == InvalidReference::Empty;
    (!left_to_the_api_server).then(|| Problem::new(place, Field::Image, None, invalid))
}

impl Cause for InvalidReference {
    fn rule(&self) -> Rule {
        Rule::InvalidImage
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (name, path) = (names.show(told.name), names.show(told.path));
        if *self == Self::Empty {
            return format!("{name} has no image in {path}");
        }
        let (image, reason) = (names.show(told.image), self.reason());
        format!("{name} has no valid image in {path}: \"{image}\" can't be pulled, {reason}")
    }
}
