//! *weak-check*: an image check pulls at least as strongly as what it guards.
//!
//! A check with `IfNotPresent` passes on a stale image that the node has, and the container with
//! `Always` then asks the registry and hangs in `ImagePullBackOff`.

use super::same_image::{Pulls, SameImage};
use super::{Cause, Field, Rule, Told, Work, missing_check, settled};
use crate::pull_policy::PullPolicy;
use crate::sentence::Names;

/// The container that pulls more strongly than the image's checks.
#[derive(Clone, Copy, Debug)]
struct Stronger<'p> {
    name: &'p str,
    policy: PullPolicy,
}

/// Raises the first check of each image whose checks are too weak: of those that are written like
/// the container's image; where nothing written alike pulls it first, and nothing will be added, of
/// all checks of the image, which still tell a missing image early.
pub fn apply(work: &mut Work<'_>, images: &SameImage) {
    let by_spelling = images.pulls(&work.entries);
    let mut by_image = images.checks(&by_spelling);
    let adds = missing_check::adds(work);
    let has_own = |pulls: &&Pulls| pulls.checks.first.is_some();
    let written_alike = by_spelling.iter().filter(has_own);
    let needs_others = |pulls: &&Pulls| !adds && !pulls.is_covered();
    let written_otherwise = by_spelling.iter().filter(needs_others);
    let cannot_tell = work.cannot_tell_images_apart();
    for pulls in written_alike.chain(written_otherwise) {
        let Some(of_the_image) = by_image.get_mut(pulls.image) else {
            continue;
        };
        // By now they include what was raised for its own spelling, which may do for the others.
        let checks = if has_own(&pulls) {
            pulls.checks
        } else {
            *of_the_image
        };
        let (Some(first), Some((guarded, needed))) = (checks.first, pulls.guarded) else {
            continue;
        };
        let Some(guarded) = work.entries.get(guarded) else {
            continue;
        };
        // A check that only a default made weak is raised again all the same.
        let left_by_use_cached = checks.use_cached && checks.came_in < Some(needed);
        if checks.strongest >= Some(needed)
            || left_by_use_cached
            || cannot_tell.may_be_checked(&guarded.reference, needed)
        {
            continue;
        }
        let stronger = Stronger {
            name: &guarded.place.name.value,
            policy: needed,
        };
        let raised = match needed {
            PullPolicy::Always => checks.first_for_always,
            PullPolicy::IfNotPresent | PullPolicy::Never => Some(first),
        };
        match raised.and_then(|check| work.entries.get_mut(check)) {
            Some(check) => {
                let policy = settled::check(check, needed, work.settings);
                check.set_policy(policy, stronger);
                of_the_image.strongest = of_the_image.strongest.max(Some(policy));
            }
            // images.forbidAlways names the check and not the container.
            None => {
                if let Some(check) = work.entries.get(first) {
                    let conflict = Conflict(stronger);
                    let problem = check.problem(Field::Policy, None, conflict);
                    work.problems.push(problem);
                }
            }
        }
    }
}

impl Cause for Stronger<'_> {
    fn rule(&self) -> Rule {
        Rule::WeakCheck
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (pulls, way_out) = (told.pulls(names), told.way_out(names));
        let (name, policy) = (names.show(self.name), self.policy.as_str());
        format!("{pulls} but {name} pulls it with {policy}: {way_out}")
    }

    fn repaired(&self, told: &Told<'_>, names: Names) -> Option<String> {
        let (now_pulls, name) = (told.now_pulls(names), names.show(self.name));
        Some(format!("{now_pulls}, as {name} needs"))
    }
}

/// The check can't be raised.
#[derive(Clone, Copy, Debug)]
struct Conflict<'p>(Stronger<'p>);

impl Cause for Conflict<'_> {
    fn rule(&self) -> Rule {
        Rule::WeakCheck
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (check, image) = (names.show(told.name), names.show(told.image));
        let (name, policy) = (names.show(self.0.name), self.0.policy.as_str());
        format!(
            "{check} may not pull {image} with {policy} (images.forbidAlways), but {name} does: \
             set {name} to IfNotPresent"
        )
    }
}
