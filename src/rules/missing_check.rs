//! *missing-check*: in a Pod with image checks, every image that a guarded place pulls has to be
//! covered. With `imageChecks.everyPod`, this rule applies to every Pod.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks. An image that is written after the checks has no check. Admission comes later, so this
//! policy sees the image.

use crate::examination::Examination;
use crate::examination::missing_checks::{checks_to_add, uncovered_images};
use crate::findings::reason::{Reason, WhyNoCheck};
use crate::findings::{Finding, FindingField, Repairability};
use crate::settings::MissingCheckAction;

/// Finds the images that are not covered. Adds their checks or reports the images, as
/// `imageChecks.coverage` says.
pub(crate) fn add_missing_checks(examination: &mut Examination<'_>) {
    let coverage = examination.settings.image_checks.coverage;
    let has_checks = examination.has_image_checks || examination.settings.image_checks.every_pod;
    if !examination.review.request_type.is_before_start()
        || !has_checks
        || coverage == MissingCheckAction::Off
    {
        return;
    }
    let uncovered = uncovered_images(examination);
    if uncovered.is_empty() {
        return;
    }
    let why = match (
        examination.source_of_checks_to_add(),
        examination.added_check_source,
    ) {
        (Some(source), _) => {
            if let Some(checks) = checks_to_add(examination, &uncovered, source) {
                examination.added_checks = checks;
                return;
            }
            WhyNoCheck::TooLarge
        }
        (None, Some(Err(why))) => why,
        (None, Some(Ok(_)) | None) => WhyNoCheck::NoneWanted,
    };
    let is_advice = examination.may_have_had_one_place()
        || (coverage != MissingCheckAction::Reject && why != WhyNoCheck::TooLarge);
    for image in uncovered {
        let field = FindingField::MissingCheck {
            expected: "an image check".into(),
        };
        let reason = Reason::NoCheckAdded {
            why,
            written_differently: image.written_differently,
        };
        let mut finding = Finding::unrepairable(image.place, field, reason);
        finding.policies.expected = Some(image.policy);
        if is_advice {
            finding.effect = Repairability::Advice;
        }
        examination.findings.push(finding);
    }
}
