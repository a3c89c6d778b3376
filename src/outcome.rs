//! The outcome of an examination: the findings, and the changes to the object.
//!
//! The outcome has all findings and repairs, whatever the mode does with them later. The outcome is
//! not the answer in JSON: `answer.rs` writes this answer from the outcome.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::examination::Examination;
use crate::examination::added_checks::AddedCheck;
use crate::examination::place::ExaminedPlace;
use crate::findings::failed_lookup::FailedLookup;
use crate::findings::{Finding, FindingField, Reason, Repairability, RuleId};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::settings::Settings;

/// The outcome of an examination.
pub(crate) struct Outcome<'p> {
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
        to: String,
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
    NewCheck(AddedCheck<'p>),
}

impl<'p> Outcome<'p> {
    /// The outcome of an object that no rule has examined.
    pub(crate) const fn unexamined(object: &'p ExaminedObject<'p>, settings: &'p Settings) -> Self {
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

    /// Works out the outcome of the rules.
    pub(crate) fn of(examination: Examination<'p>) -> Self {
        let mut outcome = Self::unexamined(examination.object, examination.settings);
        outcome.findings = findings(&examination);
        outcome.predecessor = examination.added.predecessor;
        let added = examination.added.checks.into_iter();
        outcome.changes = changes(&examination.places, added, outcome.index_of_added());
        outcome.carriers = examination.added.carriers;
        outcome.failed_lookups = examination.failed_lookups;
        outcome
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
        findings.any(|finding| finding.repairability == Repairability::Repairable)
    }
}

/// All changes, in the order of the Pod. `index` is that of the first added init container.
fn changes<'p>(
    places: &[ExaminedPlace<'p>],
    added: impl Iterator<Item = AddedCheck<'p>>,
    index: usize,
) -> Vec<Change<'p>> {
    let (volumes, mut init_containers): (Vec<_>, Vec<_>) =
        added.partition(AddedCheck::is_image_volume);
    let mut changes = Vec::new();
    for examined in places {
        let place = examined.place;
        if place.list != PodSpecList::InitContainers || place.index >= index {
            changes.extend(init_containers.drain(..).map(Change::NewCheck));
        }
        changes.extend(changes_of(examined));
    }
    let rest = init_containers.into_iter().chain(volumes);
    changes.extend(rest.map(Change::NewCheck));
    changes
}

/// The changes of a place.
fn changes_of<'p>(examined: &ExaminedPlace<'p>) -> impl Iterator<Item = Change<'p>> + use<'p> {
    let place = examined.place;
    let image = examined.digest.pinned_digest().map(|_| Change::Image {
        place,
        to: examined.image_after(),
    });
    let reason = examined.policy_reason.as_ref();
    let reason = reason.filter(|_| examined.has_new_policy());
    let policy = reason.map(|reason| Change::PullPolicy {
        place,
        to: examined.policy,
        rule: reason.rule(),
    });
    image.into_iter().chain(policy)
}

/// All findings: those without a repair, then those of the places, then those of added checks.
fn findings<'p>(examination: &Examination<'p>) -> Vec<Finding<'p>> {
    let mut findings = examination.findings.clone();
    for examined in &examination.places {
        let repairable = |field, reason: Reason<'p>| Finding {
            place: examined.place,
            field,
            found_policy: Some(examined.policy_before()),
            expected_policy: Some(examined.policy),
            repairability: Repairability::Repairable,
            reason,
        };
        if let Some(digest) = examined.digest.pinned_digest() {
            let pinned = examined.image_after();
            let reason = Reason::TagToPin(Rc::clone(digest));
            findings.push(repairable(FindingField::ImageToPin { pinned }, reason));
        }
        if let Some(reason) = examined.policy_finding() {
            findings.push(repairable(FindingField::PullPolicy, reason.clone()));
        }
    }
    for check in &examination.added.checks {
        let expected = format!("{} with {}", check.name, check.policy.as_str());
        findings.push(Finding {
            place: examination[check.guarded].place,
            field: FindingField::MissingCheck {
                expected: expected.into(),
            },
            found_policy: None,
            expected_policy: Some(check.policy),
            repairability: Repairability::Repairable,
            reason: Reason::CheckAdded {
                name: check.name.clone(),
                image: check.image.clone(),
                written_differently: check.written_differently,
            },
        });
    }
    findings
}
