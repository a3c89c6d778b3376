//! *invalid-image*: an image that can't be parsed, or that is an image ID, is a finding without a
//! repair.
//!
//! For an image that can't be parsed, the kubelet would report `InvalidImageName` long after the
//! Pod was accepted. An image ID is worse: containerd uses the image with that ID on the node. So no
//! registry is asked. No image pattern of the settings can match an image ID.

use crate::examination::Examination;
use crate::findings::reason::Reason;
use crate::findings::{Finding, FindingField};
use crate::image::InvalidReference;

/// Reports the images that can't be pulled. An empty image in a pod template is not reported,
/// because a controller may fill it in.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let is_template = examination.object.request_type.is_template();
    for (place, invalid) in &examination.invalid_images {
        if !(is_template && *invalid == InvalidReference::Empty) {
            let reason = Reason::InvalidImage(*invalid);
            let finding = Finding::unrepairable(place, FindingField::Image, reason);
            examination.findings.push(finding);
        }
    }
}
