//! *stuck-pull*: a Pod that exists waits for an image, and nobody hears of it.
//!
//! Audits send existing Pods as if they were being created, with their status, which the API
//! server strips from new ones. What the kubelet says in a status may hold addresses and tokens,
//! so only its reasons are read.

use std::collections::BTreeMap;

use super::same_image::SameImage;
use super::{Cause, Field, Role, Rule, Told, Work};
use crate::pod::{Place, Slot};
use crate::pull_policy::PullPolicy;
use crate::request::ContainerStatus;
use crate::sentence::Names;

/// The reasons of a waiting container that concern its image, and what a person can do.
/// Source: `pkg/kubelet/images/types.go` and `pkg/kubelet/container/sync_result.go`.
const REASONS: [(&str, &str); 7] = [
    ("ErrImagePull", "correct its image, or see to its registry"),
    (
        "ImagePullBackOff",
        "correct its image, or see to its registry",
    ),
    (
        "ErrImageNeverPull",
        "its node doesn't have the image, set it to IfNotPresent",
    ),
    ("InvalidImageName", "correct its image"),
    ("ImageInspectError", "see to its node"),
    ("RegistryUnavailable", "see to its registry"),
    ("SignatureValidationFailed", "sign its image"),
];

/// Finds what waits in a status, which is [read](crate::request::Review::read_status) in the modes
/// that only tell.
pub fn apply(work: &mut Work<'_>) {
    let status = &work.review.status;
    if !status.is_waiting() {
        return;
    }
    let images = SameImage::of(&work.entries);
    let by_name = indexes(work.entries.iter().map(|entry| slot_and_name(entry.place)));
    let entries: Vec<_> = work.entries.iter().zip(images.ids()).collect();
    let passed = passed_checks(work, &images);
    let mut problems = Vec::new();
    for container in status.containers() {
        let (slot, name) = (container.slot, container.name);
        let reason = container.waiting_for();
        let Some((reason, way_out)) = REASONS.iter().find(|(known, _)| Some(*known) == reason)
        else {
            continue;
        };
        let index_of_entry = by_name.get(&(slot, name));
        let Some((entry, image)) = index_of_entry.and_then(|index| entries.get(*index)) else {
            continue;
        };
        let condition = match slot {
            Slot::InitContainer => "Initialized",
            _ => "ContainersReady",
        };
        let (list, index) = (container.list, container.index);
        let stuck = Stuck {
            reason,
            way_out,
            since: status.last_transition(condition).map(str::to_owned),
            passed: passed
                .get(*image)
                .copied()
                .flatten()
                .filter(|_| slot == Slot::Container),
        };
        let field = Field::Status {
            path: format!("status.{list}[{index}].state.waiting.reason"),
            found: reason,
        };
        problems.push(entry.problem(field, None, stuck));
    }
    work.problems.append(&mut problems);
}

fn slot_and_name<'n>(place: &'n Place<'_>) -> (Slot, &'n str) {
    (place.slot, &place.name.value)
}

/// Containers and volumes by slot and name, as indexes of what they come from.
type Indexes<'n> = BTreeMap<(Slot, &'n str), usize>;

fn indexes<'n>(named: impl Iterator<Item = (Slot, &'n str)>) -> Indexes<'n> {
    let mut indexes = Indexes::new();
    for (index, named) in named.enumerate() {
        indexes.insert(named, index);
    }
    indexes
}

/// For each image, the first of its checks that has passed: an init container when it ended well,
/// a volume once the first who mounts it has started.
fn passed_checks<'p>(work: &Work<'p>, images: &SameImage) -> Vec<Option<Passed<'p>>> {
    let statuses: Vec<_> = work.review.status.containers().collect();
    let by_name = indexes(statuses.iter().map(|status| (status.slot, status.name)));
    let state = |place: &Place<'_>| statuses.get(*by_name.get(&slot_and_name(place))?);
    let places = &work.review.pod.places;
    let mut carriers = Indexes::new();
    // The first who mounts a volume comes last, and stays.
    for (index, place) in places.iter().enumerate().rev() {
        for mount in &place.mounts {
            carriers.insert((Slot::ImageVolume, &mount.name), index);
        }
    }
    let mut passed = vec![None; images.count()];
    for (check, image) in work.entries.iter().zip(images.ids()) {
        if check.role != Role::Check {
            continue;
        }
        let place = check.place;
        let has_passed = if place.slot == Slot::ImageVolume {
            let carrier = carriers.get(&slot_and_name(place));
            let carrier = carrier.and_then(|index| places.get(*index));
            carrier
                .and_then(state)
                .is_some_and(ContainerStatus::has_started)
        } else {
            state(place).is_some_and(ContainerStatus::has_ended_well)
        };
        if let Some(passed) = passed.get_mut(image).filter(|_| has_passed) {
            passed.get_or_insert(Passed {
                name: &place.name.value,
                policy: check.policy_before(),
            });
        }
    }
    passed
}

/// A container that waits.
#[derive(Clone, Debug)]
struct Stuck<'p> {
    reason: &'static str,
    way_out: &'static str,
    since: Option<String>,
    passed: Option<Passed<'p>>,
}

/// An image check that has passed.
#[derive(Clone, Copy, Debug)]
struct Passed<'p> {
    name: &'p str,
    policy: PullPolicy,
}

impl Cause for Stuck<'_> {
    fn rule(&self) -> Rule {
        Rule::StuckPull
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (name, image) = (names.show(told.name), names.show(told.image));
        let reason = match &self.since {
            // A line that is short of room does without.
            Some(since) if names.are_whole() => {
                format!("{} since {}", self.reason, names.show(since))
            }
            _ => self.reason.to_owned(),
        };
        let Some(passed) = &self.passed else {
            let (found, way_out) = (told.found, self.way_out);
            return format!("{name} waits for {image} with {found} ({reason}): {way_out}");
        };
        let (check, policy) = (names.show(passed.name), passed.policy.as_str());
        let way_out = match passed.policy {
            PullPolicy::Always => format!("set {name} to IfNotPresent"),
            PullPolicy::IfNotPresent | PullPolicy::Never => format!("set {check} to Always"),
        };
        if names.are_whole() {
            format!(
                "{name} waits for {image} ({reason}) although {check} passed with {policy}: the \
                 registry no longer has it or can't be reached; {way_out}"
            )
        } else {
            format!("{name} waits for {image} ({reason}), yet {check} passed: {way_out}")
        }
    }
}
