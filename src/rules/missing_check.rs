//! *missing-check*: every image of a Pod with image checks is covered.
//!
//! Controllers make the checks before users' patches and image overrides are applied, so an image
//! that comes in later has none. Admission sees the final Pod.

mod names;
mod place;

use self::names::FreeNames;
pub use self::place::{Carriers, MOUNTED_IN, MadeOf, Position};
use super::same_image::{Pulls, SameImage};
use super::{Cause, Field, Problem, Role, Rule, Told, Work, pull_once, settled};
use crate::pod::{Place, Slot};
use crate::pull_policy::PullPolicy;
use crate::request::Event;
use crate::sentence::Names;
use crate::settings::MissingCheckAction;

/// An image check that should be added.
#[derive(Clone, Debug)]
pub struct NewCheck<'p> {
    /// Its name, free in the Pod.
    pub name: String,
    /// The image, as the container has it.
    pub image: String,
    /// The policy that its containers need.
    pub policy: PullPolicy,
    /// What it is made of.
    pub made_of: MadeOf<'p>,
    /// The entry that it guards.
    pub guarded: usize,
    /// The place of that entry.
    pub place: &'p Place<'p>,
    /// How a check of the same image writes it, if there is one.
    written_otherwise: Option<&'p str>,
}

/// Whether checks that are missing are added. In templates they are not: nobody would ever take
/// an added one out again, and when its image leaves the registry the workload can't start any
/// more. In Windows Pods they are not, as the API server refuses what is usual for Linux.
#[must_use]
pub fn adds(work: &Work<'_>) -> bool {
    work.settings.image_checks.coverage == MissingCheckAction::Fix
        && work.review.event == Event::PodCreate
        && !work.review.pod.is_windows()
}

/// Finds the images that are not covered, and does with them what the settings say.
pub fn apply(work: &mut Work<'_>, images: &SameImage) {
    let coverage = work.settings.image_checks.coverage;
    if coverage == MissingCheckAction::Off {
        return;
    }
    let by_spelling = images.pulls(&work.entries);
    let uncovered: Vec<&Pulls> = by_spelling.iter().filter(|p| !p.is_covered()).collect();
    if uncovered.is_empty() {
        return;
    }
    let by_image = images.checks(&by_spelling);
    let cannot_tell = work.cannot_tell_images_apart();
    let is_too_much = adds(work) && is_too_much(work, uncovered.len());
    let adds = adds(work) && !is_too_much;
    let made_of = MadeOf::in_pod_of(work);
    let mut names: Option<FreeNames<'_>> = None;
    for pulls in uncovered {
        let Some((guarded, policy)) = pulls.guarded else {
            continue;
        };
        let Some(entry) = work.entries.get(guarded) else {
            continue;
        };
        if cannot_tell.may_be_covered(&entry.reference, policy) {
            continue;
        }
        let written_otherwise = by_image
            .get(pulls.image)
            .and_then(|checks| work.entries.get(checks.first?))
            .map(super::Entry::image);
        if adds {
            let names = names.get_or_insert_with(|| FreeNames::of(work, made_of));
            let check = NewCheck {
                name: names.next(),
                image: entry.image_after(),
                policy: settled::check(entry, policy, work.settings),
                made_of,
                guarded,
                place: entry.place,
                written_otherwise,
            };
            work.added.push(check);
        } else {
            let is_advice = coverage != MissingCheckAction::Reject && !is_too_much;
            let uncovered = Uncovered {
                policy,
                written_otherwise,
                is_advice,
                is_windows: coverage == MissingCheckAction::Fix && work.review.pod.is_windows(),
            };
            let problem = entry.problem(Field::Coverage, Some("an image check"), uncovered);
            work.problems.push(Problem {
                advice: is_advice,
                ..problem
            });
        }
    }
    if !work.added.is_empty() {
        pull_once::apply(work, images);
    }
}

/// The most mounts that are added to a Pod, which are about a megabyte.
const MOUNTS_MAX: usize = 10_000;

/// Whether so many volumes, mounted on every container of the Pod, would make it too large: a
/// thousand of both is more than any API server takes, and a module's memory soon as well.
fn is_too_much(work: &Work<'_>, checks: usize) -> bool {
    let pod = &work.review.pod;
    let is_carried_by_containers = MadeOf::in_pod_of(work) == MadeOf::Volume
        && matches!(Carriers::in_pod_of(work), Carriers::Containers);
    let containers = pod.list(Slot::Container).count();
    is_carried_by_containers && checks.saturating_mul(containers) > MOUNTS_MAX
}

/// How an image that no check covers is pulled by the container that needs it most.
#[derive(Clone, Copy, Debug)]
struct Uncovered<'p> {
    policy: PullPolicy,
    written_otherwise: Option<&'p str>,
    is_advice: bool,
    is_windows: bool,
}

impl Cause for Uncovered<'_> {
    fn rule(&self) -> Rule {
        Rule::MissingCheck
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let policy = self.policy.as_str();
        match self.written_otherwise {
            Some(other) if self.is_advice => another_spelling(told, other, names),
            Some(other) => {
                let way_out = format!("write both alike or add a check with {policy}");
                checked_otherwise(told, other, names, &way_out)
            }
            None if self.is_windows => unchecked(told, names, "none is added on Windows"),
            None => unchecked(told, names, &format!("add one with {policy}")),
        }
    }
}

impl Cause for NewCheck<'_> {
    fn rule(&self) -> Rule {
        Rule::MissingCheck
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let way_out = format!(
            "add {} with {}",
            names.show(&self.name),
            self.policy.as_str()
        );
        match self.written_otherwise {
            Some(other) => checked_otherwise(told, other, names, &way_out),
            None => unchecked(told, names, &way_out),
        }
    }

    fn repaired(&self, told: &Told<'_>, names: Names) -> Option<String> {
        Some(match self.written_otherwise {
            Some(other) => another_spelling(told, other, names),
            None => format!(
                "{} was added: it pulls {} with {} before {} does",
                names.show(&self.name),
                names.show(&self.image),
                self.policy.as_str(),
                names.show(told.name),
            ),
        })
    }
}

fn unchecked(told: &Told<'_>, names: Names, way_out: &str) -> String {
    let (name, image) = (names.show(told.name), names.show(told.image));
    format!("{name} pulls {image} but no image check pulls it first: {way_out}")
}

fn another_spelling(told: &Told<'_>, other: &str, names: Names) -> String {
    let (image, other) = (names.show(told.image), names.show(other));
    format!("{image} is checked as {other}: a node asks the registry again for another spelling")
}

fn checked_otherwise(told: &Told<'_>, other: &str, names: Names, way_out: &str) -> String {
    let name = names.show(told.name);
    let otherwise = another_spelling(told, other, names);
    format!("{name} has no check of its own, {otherwise}, {way_out}")
}

/// The last image check of a Pod that is a container.
fn last_check<'p>(work: &Work<'p>) -> Option<&'p Place<'p>> {
    let mut entries = work.entries.iter().rev();
    entries
        .find(|entry| entry.role == Role::Check && entry.place.slot == Slot::InitContainer)
        .map(|entry| entry.place)
}
