//! **invalid-image**: reports each examined place whose image reference can't be parsed. The finding has no
//! repair. An image ID is reported only if `images.requireAlways` or `images.forbidNever` is set, because
//! the ID may be that of an image which these patterns mean.
//!
//! **Decided**: the later rules treat an image ID like any other reference, also if it is reported.

use crate::pod::{Pod, RequestKind};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    let lists = ["images.requireAlways", "images.forbidNever"];
    let has_patterns = lists.iter().any(|key| !pod.settings.list(key).is_empty());
    for place in pod.examined() {
        // A pod template may have an empty image, because a controller may fill in the image later.
        // **Decided**: an image of only white space counts as empty.
        let is_empty = pod.places[place].image.trim().is_empty();
        let is_left_to_api_server = is_empty && pod.request_kind == RequestKind::Template;
        let is_invalid = match pod.reference(place) {
            None => !is_left_to_api_server,
            Some(image) => image.is_image_id && has_patterns,
        };
        if is_invalid {
            let path = pod.image_path(place);
            pod.find("invalid-image", place, path, Repair::None, Weight::Rejects);
        }
    }
}
