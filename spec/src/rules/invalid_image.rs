//! **invalid-image**: reports each examined place whose image reference can't be parsed or is an
//! image ID. The finding has no repair. An empty image in a pod template is not reported.

use serde_json::Value;

use crate::image::is_image_id;
use crate::pod::{Event, Pod};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    for place in pod.examined() {
        let image = &pod.places[place].image;
        // A pod template may have an empty image, because a controller may fill in the image later.
        // **Decided**: an image of only white space counts as empty.
        if image.trim().is_empty() && pod.event == Event::Template {
            continue;
        }
        if pod.reference(place).is_none() || is_image_id(image) {
            let found = Value::from(image.as_str());
            let path = pod.image_path(place);
            pod.find(
                "invalid-image",
                place,
                path,
                found,
                Value::Null,
                Repair::None,
                Weight::Rejects,
            );
        }
    }
}
