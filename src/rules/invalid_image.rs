//! *invalid-image*: an image that can't be parsed, or that is an image ID, is a finding without a
//! repair.
//!
//! For an image that can't be parsed, the kubelet would report `InvalidImageName` long after the
//! Pod was accepted. An image ID is worse: containerd uses the image with that ID on the node. So no
//! registry is asked. No image pattern of the settings can match an image ID.

use crate::examination::Examination;
use crate::examination::finding::{Finding, FindingField, FindingReason, FindingSubject, RuleId};
use crate::image::InvalidReference;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength};

/// Reports the images that can't be pulled. An empty image in a pod template is not reported,
/// because a controller may fill it in.
pub fn report(examination: &mut Examination<'_>) {
    let is_template = examination.review.request_type.is_template();
    for (place, invalid) in &examination.invalid_images {
        if !(is_template && *invalid == InvalidReference::Empty) {
            let finding = Finding::unrepairable(place, FindingField::Image, *invalid);
            examination.findings.push(finding);
        }
    }
}

impl FindingReason for InvalidReference {
    fn rule(&self) -> RuleId {
        RuleId::InvalidImage
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let (name, path) = (subject.name, subject.path);
        if *self == Self::Empty {
            return sentence!(name, " has no image in ", path);
        }
        sentence!(
            name,
            " has no valid image in ",
            path,
            ": \"",
            subject.image,
            "\" can't be pulled, ",
            self.reason()
        )
    }
}
