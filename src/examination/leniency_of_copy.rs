//! The leniency of the copy: the second, validating installation of this policy (`validatingCopy: true`).
//!
//! The copy sees a Pod after other webhooks, and makes no lookups. So it accepts three things that it can't know: a
//! digest that another webhook has added, an answer of a registry to the first installation, and containers that were
//! not there when the first installation ran.

use std::collections::BTreeSet;

use super::Examination;
use super::coverage::{Coverage, ImageChecks, PulledImage};
use crate::finding::Finding;
use crate::image::Reference;
use crate::rule_id::RuleId;

/// In the copy, the images of the places if each had no digest: another webhook may have added a digest to one of two
/// images that were the same.
pub(super) fn possibly_same_images(examination: &Examination<'_>) -> Option<Box<Coverage>> {
    let places = &examination.places;
    let copy = examination.settings.validating_copy;
    copy.then(|| {
        let images = Coverage::by_identity(places, |examined| examined.reference.identity_at(None));
        Box::new(images)
    })
}

impl Coverage {
    /// In the copy, the images that may be the same as that of a guarded place with this image.
    pub(super) fn may_be(&self, pulled: &PulledImage) -> impl Iterator<Item = &PulledImage> {
        let same = self.possibly_same.as_deref();
        same.into_iter().flat_map(|same| {
            let places = pulled.guarded_places.iter();
            let indexes = places.filter_map(|place| same.image_of_place.get(*place));
            indexes.filter_map(|index| same.images.get(*index))
        })
    }

    /// In the copy, whether the checks of an image that may be the same fulfil a condition.
    pub(super) fn may_be_checked(
        &self,
        pulled: &PulledImage,
        in_any_spelling: bool,
        condition: impl Fn(&ImageChecks) -> bool,
    ) -> bool {
        let in_any_spelling = (self.possibly_same.as_deref()).filter(|_| in_any_spelling);
        self.may_be(pulled).any(|same| {
            let checks = in_any_spelling.and_then(|images| images.in_any_spelling(same));
            condition(checks.unwrap_or(&same.checks))
        })
    }
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
    let looked_up = images.filter(|image| examination.settings.registry.selects(image));
    let repositories: BTreeSet<_> = looked_up.map(Reference::repository_identity).collect();
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
