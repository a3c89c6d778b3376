//! The outcome of an examination: the findings, and the changes to the object.
//!
//! The outcome has all findings and repairs, whatever the mode does with them later. The outcome is
//! not the answer in JSON: `answer.rs` writes this answer from the outcome.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::examination::Examination;
use crate::examination::added_check::{AddedCheck, AddedCheckSource, CheckInsertPosition};
use crate::examination::check_volume_mounts::CheckVolumeCarriers;
use crate::examination::examined_container_or_volume::ExaminedContainerOrVolume;
use crate::examination::failed_lookup::FailedLookup;
use crate::examination::finding::{
    Finding, FindingField, FindingReason, FoundAndExpectedPolicy, Repairability, RuleId,
};
use crate::examination::known_digest::PinnedTag;
use crate::pod::copied_check_fields::CopiedCheckFields;
use crate::pod::{ContainerOrVolume, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::ExaminedObject;
use crate::settings::{CheckTemplate, Settings};

/// The outcome of an examination.
#[derive(Clone, Debug)]
pub struct Outcome<'p> {
    /// The object that the rules examined, without their changes.
    pub review: &'p ExaminedObject<'p>,
    /// The settings.
    pub settings: &'p Settings,
    /// The findings, with and without a repair.
    pub findings: Vec<Finding<'p>>,
    /// The containers and image volumes that change.
    pub changed_places: Vec<ChangedContainerOrVolume<'p>>,
    /// The init containers to add.
    pub new_init_containers: NewInitContainers<'p>,
    /// The init containers to remove, in their order.
    pub removed_init_containers: Vec<&'p ContainerOrVolume<'p>>,
    /// The image volumes to add. They come after all other volumes.
    pub new_volumes: Vec<NewVolume>,
    /// The containers that get new mounts.
    pub carriers: Vec<&'p ContainerOrVolume<'p>>,
    /// The names of the volumes that each carrier mounts in addition: the new volumes, and check volumes
    /// that removed init containers mounted.
    pub new_mounts: Vec<String>,
    /// The lookups that failed or were skipped. The key is the normalised image.
    pub failed_lookups: BTreeMap<String, FailedLookup>,
}

/// A container or image volume that changes.
#[derive(Clone, Debug)]
pub struct ChangedContainerOrVolume<'p> {
    /// The container or image volume before the change.
    pub place: &'p ContainerOrVolume<'p>,
    /// The new image, if the image changes.
    pub image: Option<String>,
    /// The new pull policy and the rule that chose it, if the pull policy changes.
    pub policy: Option<(PullPolicy, RuleId)>,
}

/// The init containers to add.
#[derive(Clone, Debug, Default)]
pub struct NewInitContainers<'p> {
    /// The position at which all of them are inserted.
    pub position: CheckInsertPosition<'p>,
    /// The source of the fields that all of them have in common. None if there is no init container to add.
    pub fields: Option<NewContainerFields<'p>>,
    /// The added checks, in their order.
    pub checks: Vec<Rc<AddedCheck<'p>>>,
}

/// The fields of the init containers to add, apart from name, image and pull policy.
#[derive(Clone, Copy, Debug)]
pub enum NewContainerFields<'p> {
    /// The fields of an image check in the Pod.
    CopyOf(&'p CopiedCheckFields<'p>),
    /// The fields of `imageChecks.template`.
    Template(&'p CheckTemplate),
}

/// An image volume to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewVolume {
    /// The name of the volume.
    pub name: String,
    /// The image of the volume.
    pub image: String,
    /// The pull policy of the volume.
    pub policy: PullPolicy,
    /// The rule that adds the volume.
    pub rule: RuleId,
}

impl<'p> Outcome<'p> {
    /// Works out the outcome of the rules.
    #[must_use]
    pub fn of(examination: &Examination<'p>) -> Self {
        let (review, settings) = (examination.review, examination.settings);
        let is_replaced = |index: &usize| {
            examination
                .replaced_checks
                .places
                .binary_search(index)
                .is_ok()
        };
        let mut outcome = Self {
            review,
            settings,
            findings: findings(examination),
            changed_places: Vec::new(),
            new_init_containers: NewInitContainers::default(),
            removed_init_containers: Vec::new(),
            new_volumes: Vec::new(),
            carriers: Vec::new(),
            new_mounts: Vec::new(),
            failed_lookups: examination.failed_lookups.clone(),
        };
        for check in &examination.added_checks {
            outcome.add(check);
        }
        if !outcome.new_init_containers.checks.is_empty() {
            let places = &examination.places;
            outcome.new_init_containers.position =
                CheckInsertPosition::in_pod(review, settings, places);
        }
        for (index, examined) in examination.places.iter().enumerate() {
            if is_replaced(&index) {
                outcome.replace(examined);
            } else if let Some(changed) = changed(examined) {
                outcome.changed_places.push(changed);
            }
        }
        outcome.mount_new_volumes(&examination.replaced_checks.moved_volumes);
        outcome
    }

    fn add(&mut self, check: &Rc<AddedCheck<'p>>) {
        let fields = match check.source {
            AddedCheckSource::ImageVolume => {
                self.new_volumes.push(NewVolume {
                    name: check.name.clone(),
                    image: check.image.clone(),
                    policy: check.policy,
                    rule: RuleId::MissingCheck,
                });
                return;
            }
            AddedCheckSource::CopyOf(copied) => NewContainerFields::CopyOf(copied),
            AddedCheckSource::Template(template) => NewContainerFields::Template(template),
        };
        self.new_init_containers.fields = Some(fields);
        self.new_init_containers.checks.push(Rc::clone(check));
    }

    fn replace(&mut self, examined: &ExaminedContainerOrVolume<'p>) {
        self.removed_init_containers.push(examined.place);
        self.new_volumes.push(NewVolume {
            name: examined.place.name.value.to_string(),
            image: examined.image_after(),
            policy: examined.policy,
            rule: RuleId::ReplaceCheck,
        });
    }

    fn mount_new_volumes(&mut self, moved_volumes: &[&str]) {
        if self.new_volumes.is_empty() {
            return;
        }
        let pod = &self.review.pod;
        let staying = pod.list(PodSpecList::InitContainers).filter(|place| {
            let removed = &self.removed_init_containers;
            removed
                .binary_search_by_key(&place.index, |one| one.index)
                .is_err()
        });
        let carriers = CheckVolumeCarriers::among(staying, self.settings);
        self.carriers = carriers.containers(pod).collect();
        let new = self.new_volumes.iter().map(|volume| volume.name.clone());
        let moved = moved_volumes.iter().map(|volume| (*volume).to_owned());
        self.new_mounts = new.chain(moved).collect();
    }

    /// Whether the outcome has no finding, no change, no failed lookup and no restored field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
            && !self.changes_object()
            && self.failed_lookups.is_empty()
            && self.review.restored.is_empty()
    }

    /// Whether the rules would change the object. Fields that re-apply has restored don't count.
    #[must_use]
    pub fn changes_object(&self) -> bool {
        !self.changed_places.is_empty()
            || !self.new_init_containers.checks.is_empty()
            || !self.new_volumes.is_empty()
    }

    /// Whether a finding has a repair. The changes of *pull-once* don't count, because this rule has no
    /// findings.
    #[must_use]
    pub fn has_repairs(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.effect == Repairability::Repairable)
    }
}

/// The changes of a place that stays in the Pod. None if the place doesn't change.
fn changed<'p>(examined: &ExaminedContainerOrVolume<'p>) -> Option<ChangedContainerOrVolume<'p>> {
    let image = examined.tag.pinned_digest().map(|_| examined.image_after());
    let policy = match &examined.policy_reason {
        Some(reason) if examined.has_new_policy() => Some((examined.policy, reason.rule())),
        _ => None,
    };
    (image.is_some() || policy.is_some()).then_some(ChangedContainerOrVolume {
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
        let repairable = |field, reason: Rc<dyn FindingReason + 'p>| Finding {
            place: examined.place,
            field,
            policies,
            effect: Repairability::Repairable,
            reason,
        };
        if let Some(digest) = examined.tag.pinned_digest() {
            let image = examined.image_after();
            let field = FindingField::ImageToPin {
                pinned: image.clone(),
            };
            let digest = Rc::clone(digest);
            findings.push(repairable(field, Rc::new(PinnedTag { image, digest })));
        }
        if let Some(reason) = examined.policy_finding() {
            findings.push(repairable(FindingField::PullPolicy, Rc::clone(reason)));
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
            effect: Repairability::Repairable,
            reason: Rc::<AddedCheck<'p>>::clone(check),
        });
    }
    findings
}
