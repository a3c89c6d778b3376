//! *invalid-image*: a reference that can't be parsed is a finding without a repair.
//!
//! The kubelet would say `InvalidImageName` long after the Pod was accepted, and the API server
//! fills in a pull policy that has nothing to do with the image.

use super::{Cause, Problem};
use crate::image::Invalid;
use crate::pod::Place;
use crate::request::Event;
use crate::sentence::{Names, fill};

/// The finding for an image that can't be parsed. An empty one in a template is left to the API
/// server: whatever makes Pods from the template may fill it in.
#[must_use]
pub fn finding<'p>(event: Event, place: &'p Place<'p>, invalid: Invalid) -> Option<Problem<'p>> {
    let left_to_the_api_server = event.is_template() && invalid == Invalid::Empty;
    (!left_to_the_api_server).then_some(Problem {
        place,
        cause: Cause::InvalidImage(invalid),
        advice: false,
    })
}

/// What is wrong.
#[must_use]
pub fn sentence(path: &str, name: &str, image: &str, invalid: Invalid, names: Names) -> String {
    let (name, path) = (names.show(name), names.show(path));
    if invalid == Invalid::Empty {
        return fill("{} has no image in {}", &[&name, &path]);
    }
    fill(
        "{} has no valid image in {}: \"{}\" can't be pulled, {}",
        &[&name, &path, &names.show(image), invalid.reason()],
    )
}
