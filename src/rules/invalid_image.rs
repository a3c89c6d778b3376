//! *invalid-image*: an image that can't be parsed is a finding without a repair. The kubelet would report
//! `InvalidImageName` long after the Pod was accepted.
//!
//! An image ID (`sha256:…`) names an image that is on the node, and no registry is asked. It is a finding only if
//! `images.requireAlways` or `images.forbidNever` is set, because it may be an image that their patterns mean.

use crate::examination::Examination;
use crate::finding::{Finding, Reason, WrongField};
use crate::image::InvalidReference;
use crate::pod::Place;
use crate::rule_id::RuleId;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};

/// Reports the images that can't be pulled. An empty image in a pod template is not reported,
/// because a controller may fill it in.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let is_template = examination.object.request_type.is_template();
    let spec_path = examination.object.spec_path();
    let images = &examination.settings.images;
    let refuses_ids = !images.require_always.is_empty() || !images.forbid_never.is_empty();
    let path = |place: &Place<'_>| {
        place
            .list
            .path(spec_path, place.index, place.list.image_field())
    };
    let invalid = examination.invalid_images.iter();
    let invalid =
        invalid.filter(|(_, mistake)| !is_template || *mistake != InvalidReference::Empty);
    let invalid = invalid.map(|(place, mistake)| {
        let (mistake, path) = (*mistake, path(place));
        (*place, InvalidImage::Mistake { mistake, path })
    });
    let ids = examination.places.iter();
    let ids = ids.filter(|examined| refuses_ids && examined.reference.is_image_id());
    let ids = ids.map(|one| {
        (
            one.place,
            InvalidImage::Id {
                path: path(one.place),
            },
        )
    });
    let findings = invalid.chain(ids);
    let findings =
        findings.map(|(place, reason)| Finding::not_repairable(place, WrongField::Image, reason));
    let findings: Vec<_> = findings.collect();
    examination.findings.extend(findings);
}

/// The image can't be pulled, or no registry has it. `path` is the path of the image.
#[derive(Debug)]
enum InvalidImage {
    Mistake {
        mistake: InvalidReference,
        path: String,
    },
    Id {
        path: String,
    },
}

impl Reason for InvalidImage {
    fn rule(&self) -> RuleId {
        RuleId::InvalidImage
    }

    fn sentence<'s>(&'s self, finding: &'s Finding<'_>, _: SentenceLength) -> Sentence<'s> {
        let (name, image) = (finding.name(), finding.image());
        match self {
            Self::Mistake {
                mistake: InvalidReference::Empty,
                path,
            } => sentence!("{} has no image in {}", name, UntrustedText(path)),
            Self::Mistake { mistake, path } => sentence!(
                "{} has no valid image in {}: \"{}\" can't be pulled, {}",
                name,
                UntrustedText(path),
                image,
                mistake.reason()
            ),
            Self::Id { path } => sentence!(
                "{} has the image ID {} in {}, which may be an image that images.requireAlways or \
                 images.forbidNever means: write its name",
                name,
                image,
                UntrustedText(path)
            ),
        }
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
        assert_eq!(
            message(
                "app a sha256:0123 Never",
                &json!({"images": {"forbidNever": ["x"]}})
            ),
            "a has the image ID sha256:0123 in spec.containers[0].image, which may be an image that \
             images.requireAlways or images.forbidNever means: write its name"
        );
    }
}
