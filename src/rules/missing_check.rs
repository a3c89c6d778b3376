//! *missing-check*: every image of a Pod with image checks is covered.
//!
//! Controllers make the checks before users' patches and image overrides are applied, so an image
//! that comes in later has none. Admission sees the final Pod.

use super::same_image::SameImage;
use super::{Cause, Problem, Role, Told, Work, default, is_exempt, pull_once};
use crate::pod::{Place, Slot};
use crate::pull_policy::PullPolicy;
use crate::request::Review;
use crate::sentence::{Names, fill};
use crate::settings::{Coverage, Settings};

/// How an image that no check covers is pulled by the container that needs it most.
#[derive(Clone, Copy, Debug)]
pub struct Uncovered {
    policy: PullPolicy,
}

/// An image check that should be added.
#[derive(Clone, Debug)]
pub struct NewCheck<'p> {
    /// Its name, free in the Pod.
    pub name: String,
    /// The image, as the container has it.
    pub image: String,
    /// The policy that its containers need.
    pub policy: PullPolicy,
    /// The entry that it guards.
    pub guarded: usize,
    /// The place of that entry.
    pub place: &'p Place<'p>,
}

/// Finds the images that are not covered, and does with them what the settings say.
pub fn apply(work: &mut Work<'_>, images: &SameImage) {
    let settings = work.settings;
    let coverage = settings.image_checks.coverage;
    if coverage == Coverage::Off {
        return;
    }
    let uncovered = images
        .pulls(&work.entries)
        .into_iter()
        .filter(|pulls| pulls.first_check.is_none())
        .filter_map(|pulls| {
            pulls
                .guarded
                .filter(|(_, needed)| pulls.before_start.is_none_or(|before| before < *needed))
        });
    let mut names: Option<FreeNames<'_>> = None;
    for (guarded, policy) in uncovered {
        let Some(entry) = work.entries.get(guarded) else {
            continue;
        };
        if coverage == Coverage::Fix {
            let names = names.get_or_insert_with(|| FreeNames::of(work.review, settings));
            let check = NewCheck {
                name: names.next(),
                image: entry.image_after(),
                policy: default::settled_check(entry, policy, settings),
                guarded,
                place: entry.place,
            };
            work.added.push(check);
        } else {
            work.problems.push(Problem {
                place: entry.place,
                cause: Cause::MissingCheck(Uncovered { policy }),
                advice: coverage == Coverage::Warn,
            });
        }
    }
    if !work.added.is_empty() {
        pull_once::apply(work, images);
    }
}

/// Names for new checks: the first prefix and the first number that no container has.
struct FreeNames<'p> {
    /// For each number, whether a container has it. One of the first numbers is always free, so
    /// there are no more than containers.
    taken: Vec<bool>,
    prefix: &'p str,
    next: usize,
    settings: &'p Settings<'p>,
}

impl<'p> FreeNames<'p> {
    fn of(review: &'p Review<'p>, settings: &'p Settings<'p>) -> Self {
        let prefixes = &settings.image_checks.name_prefixes;
        let prefix = prefixes.first().map_or("imagecheck-", |prefix| &**prefix);
        let mut taken = vec![false; review.pod.places.len()];
        // Volumes have names of their own.
        let containers = review.pod.places.iter();
        for place in containers.filter(|place| place.slot != Slot::ImageVolume) {
            let number = place.name.strip_prefix(prefix).and_then(|number| {
                let canonical = number == "0" || !number.starts_with(['0', '+']);
                number.parse::<usize>().ok().filter(|_| canonical)
            });
            if let Some(taken) = number.and_then(|number| taken.get_mut(number)) {
                *taken = true;
            }
        }
        Self {
            taken,
            prefix,
            next: 0,
            settings,
        }
    }

    fn next(&mut self) -> String {
        loop {
            let number = self.next;
            self.next += 1;
            if self.taken.get(number).copied().unwrap_or_default() {
                continue;
            }
            let name = fill("{}{}", &[self.prefix, &number.to_string()]);
            // An exempt check would not be seen as one, and another would be added next time.
            if !is_exempt(&name, self.settings) {
                return name;
            }
        }
    }
}

/// Where new checks go: straight after the Pod's last check, which they are copies of; in a Pod
/// without one, after the last init container that `imageChecks.after` names, else first.
#[derive(Clone, Copy, Debug)]
pub struct Position<'p> {
    /// The init container that they follow.
    pub after: Option<&'p Place<'p>>,
    /// The check that they are copies of; none where `imageChecks.template` is used.
    pub copied: Option<&'p Place<'p>>,
}

impl<'p> Position<'p> {
    /// The position in the Pod of this work.
    #[must_use]
    pub fn of(work: &Work<'p>) -> Self {
        let last_check = work
            .entries
            .iter()
            .rev()
            .find(|entry| entry.role == Role::Check)
            .map(|entry| entry.place);
        if last_check.is_some() {
            return Self {
                after: last_check,
                copied: last_check,
            };
        }
        let globs = &work.settings.image_checks.after;
        let named = |place: &&Place<'_>| {
            let matches = |glob| crate::pattern::glob_matches(glob, &place.name);
            globs.iter().any(|glob| matches(glob))
        };
        Self {
            after: work
                .review
                .pod
                .list(Slot::InitContainer)
                .filter(named)
                .last(),
            copied: None,
        }
    }

    /// The index that the first new check gets among the init containers.
    #[must_use]
    pub fn index(&self) -> usize {
        self.after.map_or(0, |place| place.index + 1)
    }
}

/// What is wrong, and the way out.
#[must_use]
pub fn sentence(told: &Told<'_>, uncovered: Uncovered, names: Names) -> String {
    fill(
        "{} pulls {} but no image check pulls it first: add one with {}",
        &[
            &names.show(told.name),
            &names.show(told.image),
            uncovered.policy.as_str(),
        ],
    )
}

/// What is wrong, and the check that the repair adds.
#[must_use]
pub fn sentence_of_new(check: &NewCheck<'_>, names: Names) -> String {
    fill(
        "{} pulls {} but no image check pulls it first: add {} with {}",
        &[
            &names.show(&check.place.name),
            &names.show(&check.image),
            &names.show(&check.name),
            check.policy.as_str(),
        ],
    )
}

/// The repair.
#[must_use]
pub fn repaired(check: &NewCheck<'_>, names: Names) -> String {
    fill(
        "{} was added: it pulls {} with {} before {} does",
        &[
            &names.show(&check.name),
            &names.show(&check.image),
            check.policy.as_str(),
            &names.show(&check.place.name),
        ],
    )
}
