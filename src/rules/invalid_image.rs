//! *invalid-image*: an image that can't be parsed is a finding without a repair. The kubelet would report
//! `InvalidImageName` long after the Pod was accepted.
//!
//! An image ID (`sha256:…`) names an image that is on the node, and no registry is asked. It is a finding only if
//! `images.requireAlways` or `images.forbidNever` is set, because it may be an image that these patterns mean.

use crate::examination::{Effect, Examination, Place, Reason, Role, Rule, Subject};
use crate::image::Invalid;
use crate::request::Operation;

/// Reports the images that can't be pulled. An empty image in a pod template is left to the API server, because a
/// controller may fill it in.
pub(super) fn find(examination: &mut Examination<'_>) {
    let images = &examination.settings.images;
    let refuses_ids = !images.require_always.is_empty() || !images.forbid_never.is_empty();
    let is_template = examination.request.operation == Operation::Template;
    for index in 0..examination.places.len() {
        let place = examination.places.get(index);
        let is_examined = |place: &&Place<'_>| place.is_examined && place.role != Role::Exempt;
        let Some(place) = place.filter(is_examined) else { continue };
        let mistake = match &place.reference {
            Err(Invalid::Empty) if is_template => continue,
            Err(invalid) => Mistake::Invalid(*invalid),
            Ok(image) if refuses_ids && image.is_image_id() => Mistake::ImageId,
            Ok(_) => continue,
        };
        let path = examination.path(place, place.list.image_path());
        if let Some(place) = examination.places.get_mut(index) {
            place.role = Role::Invalid;
        }
        let invalid = InvalidImage { path, mistake };
        examination.find(index, Subject::Image, Effect::NotRepairable, invalid);
    }
}

/// What is wrong with the image.
#[derive(Debug)]
enum Mistake {
    /// It can't be parsed.
    Invalid(Invalid),
    /// It is an image ID.
    ImageId,
}

/// The image can't be pulled, or it may be one that the settings forbid.
#[derive(Debug)]
struct InvalidImage {
    path: String,
    mistake: Mistake,
}

impl Reason for InvalidImage {
    fn rule(&self) -> Rule {
        Rule::InvalidImage
    }

    fn problem(&self, place: &Place<'_>) -> String {
        let (name, image, path) = (place.shown_name(), place.shown_image(), &self.path);
        match self.mistake {
            Mistake::Invalid(Invalid::Empty) => format!("{name} has no image in {path}"),
            Mistake::Invalid(invalid) => {
                format!("{name} has the invalid image \"{image}\" in {path}, because {}", invalid.problem())
            }
            Mistake::ImageId => format!(
                "{name} has the image ID {image} in {path}, and images.requireAlways or images.forbidNever may name its image"
            ),
        }
    }

    fn help(&self, _: &Place<'_>) -> String {
        match self.mistake {
            Mistake::Invalid(_) => "write registry/repository:tag".to_owned(),
            Mistake::ImageId => "write the image's name".to_owned(),
        }
    }
}
