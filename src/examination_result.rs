//! The result of an examination: the findings, and the changes to the object.
//!
//! It has all findings and repairs, whatever the mode does with them later. It is not the answer in JSON:
//! `answer.rs` writes this answer.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::examination::Examination;
use crate::examination::added_check::AddedCheck;
use crate::examination::examined_place::ExaminedPlace;
use crate::examination::leniency_of_copy::retain_certain_findings;
use crate::finding::{Finding, FindingEffect};
use crate::lookup::failed_lookup::FailedLookup;
use crate::pod_spec::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::rule_id::RuleId;
use crate::settings::Settings;

/// The result of an examination.
pub(crate) struct ExaminationResult<'p> {
    /// The object that the rules examined, without their changes.
    pub(crate) object: &'p ExaminedObject<'p>,
    /// The settings.
    pub(crate) settings: &'p Settings,
    /// The findings, with and without a repair.
    pub(crate) findings: Vec<Finding<'p>>,
    /// The changes, in the order of the Pod. Fields that *re-apply* has restored are not among them.
    pub(crate) changes: Vec<Change<'p>>,
    /// The init container directly before the added ones. None if the added ones come first.
    pub(crate) predecessor: Option<&'p Place<'p>>,
    /// The containers that mount each added volume.
    pub(crate) carriers: Vec<&'p Place<'p>>,
    /// The lookups that failed or were skipped. The key is the normalised image.
    pub(crate) failed_lookups: BTreeMap<String, FailedLookup>,
}

/// A change of the object.
pub(crate) enum Change<'p> {
    /// The image of a place gets a digest.
    Image {
        /// The place before the change.
        place: &'p Place<'p>,
        /// The new image.
        to: Rc<str>,
    },
    /// The pull policy of a place changes.
    PullPolicy {
        /// The place before the change.
        place: &'p Place<'p>,
        /// The new pull policy.
        to: PullPolicy,
        /// The rule that chose it.
        rule: RuleId,
    },
    /// A check is added: an init container, or an image volume behind all other volumes.
    NewCheck(Box<AddedCheck<'p>>),
}

impl<'p> ExaminationResult<'p> {
    /// The result for an object that no rule has examined.
    pub(crate) const fn none(object: &'p ExaminedObject<'p>, settings: &'p Settings) -> Self {
        Self {
            object,
            settings,
            findings: Vec::new(),
            changes: Vec::new(),
            predecessor: None,
            carriers: Vec::new(),
            failed_lookups: BTreeMap::new(),
        }
    }

    /// Collects what the rules found: first what no change of a place repairs.
    pub(crate) fn of(mut examination: Examination<'p>) -> Self {
        let mut findings = std::mem::take(&mut examination.findings);
        findings.extend(examination.places.iter().flat_map(ExaminedPlace::findings));
        let added = examination.added.checks.iter();
        findings.extend(added.map(|check| check.finding.clone()));
        retain_certain_findings(&examination, &mut findings);
        let mut result = Self::none(examination.object, examination.settings);
        result.findings = findings;
        result.predecessor = examination.added.predecessor;
        let added = examination.added.checks.into_iter();
        result.changes = changes(&examination.places, added, result.index_of_added());
        result.carriers = examination.added.carriers;
        result.failed_lookups = examination.failed_lookups;
        result
    }

    /// The index of the first added init container.
    pub(crate) fn index_of_added(&self) -> usize {
        self.predecessor
            .map_or(0, |place| place.index.saturating_add(1))
    }

    /// Whether a finding has a repair. The changes of *pull-once* don't count, because this rule has no
    /// findings.
    pub(crate) fn has_repairs(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.effect == FindingEffect::Repairable)
    }
}

/// All changes, in the order of the Pod. `index` is that of the first added init container.
fn changes<'p>(
    places: &[ExaminedPlace<'p>],
    added: impl Iterator<Item = AddedCheck<'p>>,
    index: usize,
) -> Vec<Change<'p>> {
    let (volumes, mut init_containers): (Vec<_>, Vec<_>) =
        added.partition(|check| check.form.is_image_volume());
    let mut changes = Vec::new();
    for examined in places {
        let place = examined.place;
        if place.list != PodSpecList::InitContainers || place.index >= index {
            let added = init_containers.drain(..);
            changes.extend(added.map(|check| Change::NewCheck(Box::new(check))));
        }
        let to = examined.pinned_image().map(Rc::clone);
        changes.extend(to.map(|to| Change::Image { place, to }));
        let policy = examined.policy_change();
        changes.extend(policy.map(|(to, rule)| Change::PullPolicy { place, to, rule }));
    }
    let rest = init_containers.into_iter().chain(volumes);
    changes.extend(rest.map(|check| Change::NewCheck(Box::new(check))));
    changes
}
