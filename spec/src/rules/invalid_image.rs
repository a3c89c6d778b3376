//! **invalid-image**: "a reference that can't be parsed, or that is an image ID, in a container
//! that is examined, is a finding without a repair".

use serde_json::Value;

use crate::image::is_image_id;
use crate::pod::{Event, Pod};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    for place in pod.examined() {
        let image = &pod.places[place].image;
        // "An empty image in a template is left to the API server." **Decided**: an image of white space
        // alone is empty.
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
