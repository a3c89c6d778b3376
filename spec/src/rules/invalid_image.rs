//! **invalid-image**: reports each examined place whose image reference can't be parsed or is an
//! image ID. The finding has no repair. An empty image in a pod template is not reported.

use crate::pod::{Event, Pod};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    for place in pod.examined() {
        // A pod template may have an empty image, because a controller may fill in the image later.
        // **Decided**: an image of only white space counts as empty.
        let is_empty = pod.places[place].image.trim().is_empty();
        let may_be_empty = pod.event == Event::Template;
        if pod.reference(place).is_none() && !(is_empty && may_be_empty) {
            let path = pod.image_path(place);
            pod.find("invalid-image", place, path, Repair::None, Weight::Rejects);
        }
    }
}
