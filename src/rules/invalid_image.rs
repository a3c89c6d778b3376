//! *invalid-image*: an image that can't be parsed, or that is an image ID, is a finding without a
//! repair.
//!
//! For an image that can't be parsed, the kubelet would report `InvalidImageName` long after the
//! Pod was accepted. An image ID is worse: containerd uses the image with that ID on the node. So no
//! registry is asked. No image pattern of the settings can match an image ID.

use crate::examination::Examination;
use crate::findings::{Finding, FindingField, Reason};
use crate::image::InvalidReference;

/// Reports the images that can't be pulled. An empty image in a pod template is not reported,
/// because a controller may fill it in.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let is_template = examination.object.request_type.is_template();
    let spec_path = examination.object.spec_path();
    for (place, invalid) in &examination.invalid_images {
        if !(is_template && *invalid == InvalidReference::Empty) {
            let field = place.list.image_field();
            let path = place.list.path(spec_path, place.index, field);
            let reason = Reason::InvalidImage(*invalid, path);
            let finding = Finding::unrepairable(place, FindingField::Image, reason);
            examination.findings.push(finding);
        }
    }
}
