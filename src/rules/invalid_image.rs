//! *invalid-image*: an image that can't be parsed, or that is an image ID, is a finding without a
//! repair.
//!
//! For an image that can't be parsed, the kubelet would report `InvalidImageName` long after the
//! Pod was accepted. An image ID is worse: containerd uses the image with that ID on the node. So no
//! registry is asked. No image pattern of the settings can match an image ID.

use crate::examination::Examination;
use crate::finding::{Finding, Reason, WrongField};
use crate::image::InvalidReference;
use crate::rule_id::RuleId;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};

/// Reports the images that can't be pulled. An empty image in a pod template is not reported,
/// because a controller may fill it in.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let is_template = examination.object.request_type.is_template();
    let spec_path = examination.object.spec_path();
    for (place, invalid) in &examination.invalid_images {
        if !(is_template && *invalid == InvalidReference::Empty) {
            let field = place.list.image_field();
            let reason = InvalidImage {
                mistake: *invalid,
                path: place.list.path(spec_path, place.index, field),
            };
            let finding = Finding::not_repairable(place, WrongField::Image, reason);
            examination.findings.push(finding);
        }
    }
}

/// The image can't be pulled.
#[derive(Debug)]
struct InvalidImage {
    mistake: InvalidReference,
    /// The path of the image.
    path: String,
}

impl Reason for InvalidImage {
    fn rule(&self) -> RuleId {
        RuleId::InvalidImage
    }

    fn sentence<'s>(&'s self, finding: &'s Finding<'_>, _: SentenceLength) -> Sentence<'s> {
        let path = UntrustedText(&self.path);
        if self.mistake == InvalidReference::Empty {
            return sentence!("{} has no image in {}", finding.name(), path);
        }
        sentence!(
            "{} has no valid image in {}: \"{}\" can't be pulled, {}",
            finding.name(),
            path,
            finding.image(),
            self.mistake.reason()
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::answers_for_tests::message;

    #[test]
    fn sentences() {
        for (image, sentence) in [
            (
                "NGINX",
                "a has no valid image in spec.containers[0].image: \"NGINX\" can't be pulled, \
                 its repository has upper-case letters",
            ),
            ("", "a has no image in spec.containers[0].image"),
        ] {
            assert_eq!(message(&format!("app a {image}"), &json!({})), sentence);
        }
    }
}
