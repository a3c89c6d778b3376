//! *invalid-image*: an image that can't be parsed is a finding without a repair. The kubelet would
//! report `InvalidImageName` long after the Pod was accepted.
//!
//! An image ID (`sha256:…`) names an image that is on the node, and no registry is asked. It is a
//! finding only if `images.requireAlways` is set, because it may be an
//! image that these patterns mean.

use crate::examination::{Effect, Examination, Place, Reason, Role, Rule, Subject};
use crate::image::Invalid;
use crate::request::Operation;

/// Reports the images that can't be pulled. An empty image in a pod template is left to the API
/// server, because a controller may fill it in.
pub(super) fn report(examination: &mut Examination<'_>) {
    let spec = examination.request.kind.spec_path();
    let is_template = examination.request.operation == Operation::Template;
    for (index, place) in examination.places.iter().enumerate() {
        if !place.is_examined || place.role != Role::Invalid {
            continue;
        }
        let (problem, help) = match place.entry.reference {
            Err(Invalid::Empty) if is_template => continue,
            Err(invalid) => (invalid.problem(), invalid.help()),
            Ok(_) => (
                "it is an image ID, and images.requireAlways may name its image",
                "write the image's name",
            ),
        };
        let key = place.entry.list.path_to(place.entry.list.image_key());
        let path = [&place.entry.path(spec), ".", &key].concat();
        let (subject, effect) = (Subject::Image(None), Effect::NotRepairable);
        let reason = InvalidImage {
            path,
            problem,
            help,
        };
        examination
            .findings
            .add(index, Rule::InvalidImage, subject, effect, reason);
    }
}

/// The image can't be pulled, or it may be one that the settings forbid.
#[derive(Debug)]
struct InvalidImage {
    path: String,
    problem: &'static str,
    help: &'static str,
}

impl Reason for InvalidImage {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let name = place.shown_name();
        let Self { path, problem, .. } = self;
        format!("{name} has the invalid image \"{image}\" in {path}, because {problem}")
    }

    fn help(&self, _: &Place<'_>) -> String {
        self.help.to_owned()
    }
}
