//! *invalid-image*: an image that can't be parsed is a finding without a repair. The kubelet would report
//! `InvalidImageName` long after the Pod was accepted.
//!
//! An image ID (`sha256:…`) names an image that is on the node, and no registry is asked. It is a finding only if
//! `images.requireAlways` or `images.forbidNever` is set, because it may be an image that these patterns mean.

use crate::examination::{Effect, Examination, Place, Reason, Role, Rule, Subject};
use crate::image::Invalid;
use crate::request::Operation;

/// Reports the images that can't be pulled. An empty image in a pod template is left to the API server,
/// because a controller may fill it in.
pub(super) fn report(examination: &mut Examination<'_>) {
    let spec = examination.request.kind.spec_path();
    let is_template = examination.request.operation == Operation::Template;
    for (index, place) in examination.places.iter().enumerate() {
        if !place.is_examined || place.role != Role::Invalid {
            continue;
        }
        let mistake = match place.reference {
            Err(Invalid::Empty) if is_template => continue,
            Err(invalid) => Mistake::Invalid(invalid),
            Ok(_) => Mistake::ImageId,
        };
        let entry = place.list.path(spec, place.index());
        let path = [&entry, ".", place.list.image_path()].concat();
        let (subject, effect) = (Subject::Image(None), Effect::NotRepairable);
        let reason = InvalidImage { path, mistake };
        examination
            .findings
            .add(index, Rule::InvalidImage, subject, effect, reason);
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
    fn problem(&self, place: &Place<'_>) -> String {
        let (name, image, path) = (place.shown_name(), place.shown_image(), &self.path);
        match self.mistake {
            Mistake::Invalid(Invalid::Empty) => format!("{name} has no image in {path}"),
            Mistake::Invalid(invalid) => {
                format!(
                    "{name} has the invalid image \"{image}\" in {path}, because {}",
                    invalid.problem()
                )
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
