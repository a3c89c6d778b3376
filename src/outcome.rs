//! The outcome of an examination: the findings, and the changes to the object.
//!
//! The outcome has all findings and repairs, whatever the mode does with them later. The outcome is
//! not the answer in JSON: `answer.rs` writes this answer from the outcome.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::examination::Examination;
use crate::examination::place::ExaminedPlace;
use crate::findings::failed_lookup::FailedLookup;
use crate::findings::reason::{Reason, RuleId};
use crate::findings::{Finding, FindingField, FoundAndExpectedPolicy, Repairability};
use crate::pod::Place;
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::rules::missing_check::added_check::{AddedCheck, CheckInsertPosition};
use crate::rules::missing_check::check_volumes::check_volume_carriers;
use crate::settings::Settings;

/// The outcome of an examination.
#[derive(Clone, Debug)]
pub(crate) struct Outcome<'p> {
    /// The object that the rules examined, without their changes.
    pub(crate) object: &'p ExaminedObject<'p>,
    /// The settings.
    pub(crate) settings: &'p Settings,
    /// The findings, with and without a repair.
    pub(crate) findings: Vec<Finding<'p>>,
    /// The containers and image volumes that change.
    pub(crate) changed_places: Vec<ChangedPlace<'p>>,
    /// The init containers to add.
    pub(crate) new_init_containers: NewInitContainers<'p>,
    /// Whether checks can be added to this Pod, or to the Pods of this pod template.
    pub(crate) can_add_checks: bool,
    /// The image volumes to add. They come after all other volumes.
    pub(crate) new_volumes: Vec<NewVolume>,
    /// The containers that mount each new volume.
    pub(crate) carriers: Vec<&'p Place<'p>>,
    /// The lookups that failed or were skipped. The key is the normalised image.
    pub(crate) failed_lookups: BTreeMap<String, FailedLookup>,
}

/// A container or image volume that changes.
#[derive(Clone, Debug)]
pub(crate) struct ChangedPlace<'p> {
    /// The container or image volume before the change.
    pub(crate) place: &'p Place<'p>,
    /// The new image, if the image changes.
    pub(crate) image: Option<String>,
    /// The new pull policy and the rule that chose it, if the pull policy changes.
    pub(crate) policy: Option<(PullPolicy, RuleId)>,
}

/// The init containers to add.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewInitContainers<'p> {
    /// The position at which all of them are inserted.
    pub(crate) position: CheckInsertPosition<'p>,
    /// Their fields apart from name, image and pull policy, as members of a JSON object, each with a
    /// comma before it.
    pub(crate) fields: String,
    /// The added checks, in their order.
    pub(crate) checks: Vec<Rc<AddedCheck<'p>>>,
}

/// An image volume to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewVolume {
    /// The name of the volume.
    pub(crate) name: String,
    /// The image of the volume.
    pub(crate) image: String,
    /// The pull policy of the volume.
    pub(crate) policy: PullPolicy,
}

impl<'p> Outcome<'p> {
    /// Works out the outcome of the rules.
    pub(crate) fn of(examination: &Examination<'p>) -> Self {
        let (object, settings) = (examination.object, examination.settings);
        let mut outcome = Self {
            object,
            settings,
            findings: findings(examination),
            changed_places: examination.places.iter().filter_map(changed).collect(),
            new_init_containers: NewInitContainers::default(),
            can_add_checks: matches!(examination.added_check_source, Some(Ok(_))),
            new_volumes: Vec::new(),
            carriers: Vec::new(),
            failed_lookups: examination.failed_lookups.clone(),
        };
        for check in &examination.added_checks {
            outcome.add(check);
        }
        if !outcome.new_init_containers.checks.is_empty() {
            let places = &examination.places;
            outcome.new_init_containers.position =
                CheckInsertPosition::in_pod(object, settings, places);
        }
        if !outcome.new_volumes.is_empty() {
            outcome.carriers = check_volume_carriers(&object.pod, settings);
        }
        outcome
    }

    fn add(&mut self, check: &Rc<AddedCheck<'p>>) {
        if check.source.is_image_volume() {
            self.new_volumes.push(NewVolume {
                name: check.name.clone(),
                image: check.image.clone(),
                policy: check.policy,
            });
        } else {
            let new = &mut self.new_init_containers;
            if new.checks.is_empty() {
                new.fields = check.source.fields_text();
            }
            new.checks.push(Rc::clone(check));
        }
    }

    /// Whether the outcome has no finding, no change, no failed lookup and no restored field.
    pub(crate) fn is_empty(&self) -> bool {
        self.findings.is_empty()
            && !self.changes_object()
            && self.failed_lookups.is_empty()
            && self.object.restored.is_empty()
    }

    /// Whether the rules would change the object. Fields that re-apply has restored don't count.
    pub(crate) fn changes_object(&self) -> bool {
        !self.changed_places.is_empty()
            || !self.new_init_containers.checks.is_empty()
            || !self.new_volumes.is_empty()
    }

    /// Whether a finding has a repair. The changes of *pull-once* don't count, because this rule has no
    /// findings.
    pub(crate) fn has_repairs(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.repairability == Repairability::Repairable)
    }
}

/// The changes of a place. None if the place doesn't change.
fn changed<'p>(examined: &ExaminedPlace<'p>) -> Option<ChangedPlace<'p>> {
    let image = examined
        .digest
        .pinned_digest()
        .map(|_| examined.image_after());
    let policy = match &examined.policy_reason {
        Some(reason) if examined.has_new_policy() => Some((examined.policy, reason.rule())),
        _ => None,
    };
    (image.is_some() || policy.is_some()).then_some(ChangedPlace {
        place: examined.place,
        image,
        policy,
    })
}

/// All findings: those without a repair, then those of the places, then those of added checks.
fn findings<'p>(examination: &Examination<'p>) -> Vec<Finding<'p>> {
    let mut findings = examination.findings.clone();
    for examined in &examination.places {
        let policies = FoundAndExpectedPolicy {
            found: Some(examined.policy_before()),
            expected: Some(examined.policy),
        };
        let repairable = |field, reason: Reason<'p>| Finding {
            place: examined.place,
            field,
            policies,
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
    for check in &examination.added_checks {
        let expected = format!("{} with {}", check.name, check.policy.as_str());
        findings.push(Finding {
            place: check.place,
            field: FindingField::MissingCheck {
                expected: expected.into(),
            },
            policies: FoundAndExpectedPolicy {
                found: None,
                expected: Some(check.policy),
            },
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
