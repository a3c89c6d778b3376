//! The leniency of the copy: the second, validating installation of this policy (`validatingCopy: true`).
//!
//! The copy sees a Pod after other webhooks, and makes no lookups. So it accepts three things that it can't know: a
//! digest that another webhook has added, an answer of a registry to the first installation, and containers that were
//! not there when the first installation ran.

use std::collections::BTreeSet;

use super::Examination;
use super::examined_place::ExaminedPlace;
use crate::finding::Finding;
use crate::image::{ImageIdentity, Reference};
use crate::rule_id::RuleId;
use crate::settings::LookupMode;

/// The identity by which two images may be the same: another webhook may have added a digest to one of them.
pub(super) fn identity_without_digest<'e>(examined: &'e ExaminedPlace<'_>) -> ImageIdentity<'e> {
    examined.reference.identity_at(None)
}

/// Whether a missing check is only a warning. A Pod with one app container may have had no other container when the
/// first installation ran, and then needed no check.
pub(crate) fn may_have_had_one_place(examination: &Examination<'_>) -> bool {
    examination.settings.validating_copy && examination.has_one_app_container()
}

/// Removes the findings that an answer of a registry may have removed in the first installation: those of some rules
/// about each repository of which any image is looked up.
pub(crate) fn retain_certain_findings(
    examination: &Examination<'_>,
    findings: &mut Vec<Finding<'_>>,
) {
    if !examination.settings.validating_copy {
        return;
    }
    // Every place of the object counts, exempt ones too.
    let places = examination.object.pod.places.iter();
    let images = places.filter_map(|place| Reference::parse(place.image_text()).ok());
    let registry = &examination.settings.registry;
    let looked_up = images
        .filter(|image| !image.is_image_id() && registry.for_image(image).mode != LookupMode::Off);
    let mut repositories = BTreeSet::new();
    repositories.extend(looked_up.map(Reference::repository_identity));
    findings.retain(|finding| {
        let depends_on_answers = matches!(
            finding.rule(),
            RuleId::Default | RuleId::Registry | RuleId::WeakCheck | RuleId::MissingCheck
        );
        let image = Reference::parse(finding.place.image_text());
        !depends_on_answers
            || image.is_ok_and(|image| !repositories.contains(&image.repository_identity()))
    });
}
