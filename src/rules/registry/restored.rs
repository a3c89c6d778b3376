//! The digests that an UPDATE of a Pod takes off. A second `kubectl apply` and syncers such as
//! vcluster's write the tag again. Another digest, or in an outage none, would restart a container
//! that runs.

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::is_digest;
use crate::request::Operation;
use crate::shown::shown;

/// Gives the stored image back to each container whose new image is the tag of the stored one. No
/// later rule examines the container, because it doesn't change.
pub(in crate::rules) fn restore(examination: &mut Examination<'_>) {
    let pins = examination.settings.registry.lookup.pins();
    if !pins || examination.request.operation != Operation::PodUpdate {
        return;
    }
    for (index, place) in examination.places.iter_mut().enumerate() {
        if let Some(stored) = place.stored_image
            && place.takes_part()
            && place.entry.settings.is_looked_up
            && has_lost_digest(place, stored)
        {
            place.set_image(stored.to_owned(), Rule::Registry);
            place.is_examined = false;
            let subject = Subject::Image(Some(stored.to_owned()));
            let effect = Effect::Repairable;
            examination
                .findings
                .add(index, Rule::Registry, subject, effect, LostDigest);
        }
    }
}

/// Whether the stored image is the image of this place with a digest.
fn has_lost_digest(place: &Place<'_>, stored: &str) -> bool {
    let image = place.same_image();
    let digest = stored
        .strip_prefix(&*image)
        .and_then(|rest| rest.strip_prefix('@'));
    !image.contains('@') && digest.is_some_and(is_digest)
}

/// The stored image has a digest, and the new one has not.
#[derive(Debug)]
struct LostDigest;

impl Reason for LostDigest {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let name = place.shown_name();
        format!(
            "{name} gets {image} without the digest of its stored image, so it would start again"
        )
    }

    fn help(&self, place: &Place<'_>) -> String {
        format!("set its image to {}", shown(&place.image.now))
    }
}
