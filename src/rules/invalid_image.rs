//! *invalid-image*: an image that can't be parsed is a finding without a repair. The kubelet would report
//! `InvalidImageName` long after the Pod was accepted.
//!
//! An image ID (`sha256:…`) names an image that is on the node, and no registry is asked. It is a finding only if
//! `images.requireAlways` or `images.forbidNever` is set, because it may be an image that their patterns mean.

use crate::examination::Examination;
use crate::finding::{Finding, FindingReason, FindingSubject};
use crate::image::InvalidReference;
use crate::rule_id::RuleId;
use crate::shown_text::TextLimit;

/// Reports the images that can't be pulled. An empty image in a pod template is not reported,
/// because a controller may fill it in.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let is_template = examination.object.request_type.is_template();
    let pod_spec = examination.object.spec_path();
    let images = &examination.settings.images;
    let refuses_ids = !images.require_always.is_empty() || !images.forbid_never.is_empty();
    let invalid = examination.invalid_images.iter();
    let invalid =
        invalid.filter(|(_, mistake)| !is_template || *mistake != InvalidReference::Empty);
    let invalid = invalid.map(|(place, mistake)| (*place, Some(*mistake)));
    let ids = examination.places.iter();
    let ids = ids.filter(|examined| refuses_ids && examined.reference.is_image_id());
    let ids = ids.map(|examined| (examined.place, None));
    let findings = invalid.chain(ids).map(|(place, mistake)| {
        let reason = InvalidImageReason { mistake, pod_spec };
        Finding::not_repairable(place, FindingSubject::Image, reason)
    });
    let findings: Vec<_> = findings.collect();
    examination.findings.extend(findings);
}

/// The image can't be pulled, or no registry has it.
#[derive(Debug)]
struct InvalidImageReason {
    /// The mistake in the image. None if the image is an image ID.
    mistake: Option<InvalidReference>,
    /// The path of the Pod spec.
    pod_spec: &'static str,
}

impl FindingReason for InvalidImageReason {
    fn rule(&self) -> RuleId {
        RuleId::InvalidImage
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let (name, image) = (finding.name(limit), finding.image(limit));
        let path = finding.path(self.pod_spec);
        let path = limit.show(&path);
        match self.mistake {
            Some(InvalidReference::Empty) => format!("{name} has no image in {path}"),
            Some(mistake) => {
                let why = mistake.reason();
                format!("{name} has no valid image in {path}: \"{image}\" can't be pulled, {why}")
            }
            None => format!(
                "{name} has the image ID {image} in {path}, which may be an image that images.requireAlways or \
                 images.forbidNever means: write its name"
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
