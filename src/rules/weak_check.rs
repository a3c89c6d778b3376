//! *weak-check*: an image check pulls at least as strongly as the containers that it guards.
//!
//! A check with `IfNotPresent` passes on a stale image that the node has, and the container with
//! `Always` then asks the registry and hangs in `ImagePullBackOff`.

use super::same_image::SameImage;
use super::{Cause, Told, Work, default};
use crate::pull_policy::PullPolicy;
use crate::sentence::{Names, fill};

/// The container that pulls more strongly than the image's checks.
#[derive(Clone, Copy, Debug)]
pub struct Stronger<'p> {
    name: &'p str,
    policy: PullPolicy,
}

/// Raises the first check of each image whose checks are too weak.
pub fn apply(work: &mut Work<'_>, images: &SameImage) {
    for pulls in images.pulls(&work.entries) {
        let (Some(first), Some(by_checks), Some((guarded, needed))) =
            (pulls.first_check, pulls.by_checks, pulls.guarded)
        else {
            continue;
        };
        if by_checks >= needed {
            continue;
        }
        let Some(name) = work.entries.get(guarded).map(|entry| &*entry.place.name) else {
            continue;
        };
        let stronger = Stronger {
            name,
            policy: needed,
        };
        let raised = match needed {
            PullPolicy::Always => pulls.first_check_for_always,
            PullPolicy::IfNotPresent | PullPolicy::Never => Some(first),
        };
        match raised.and_then(|check| work.entries.get_mut(check)) {
            Some(check) => {
                let policy = default::settled_check(check, needed, work.settings);
                check.set_policy(policy, Cause::WeakCheck(stronger));
            }
            // images.forbidAlways names the check and not the container.
            None => work.reject(first, Cause::WeakCheck(stronger)),
        }
    }
}

/// What is wrong, and the way out.
#[must_use]
pub fn sentence(told: &Told<'_>, stronger: Stronger<'_>, names: Names) -> String {
    fill(
        "{} but {} pulls it with {}: {}",
        &[
            &told.pulls(names),
            &names.show(stronger.name),
            stronger.policy.as_str(),
            &told.way_out(names),
        ],
    )
}

/// What is wrong where the check can't be raised, and the way out.
#[must_use]
pub fn conflict(told: &Told<'_>, stronger: Stronger<'_>, names: Names) -> String {
    fill(
        "{} may not pull {} with {} (images.forbidAlways), but {} does: set {} to IfNotPresent",
        &[
            &names.show(told.name),
            &names.show(told.image),
            stronger.policy.as_str(),
            &names.show(stronger.name),
            &names.show(stronger.name),
        ],
    )
}

/// The repair.
#[must_use]
pub fn repaired(told: &Told<'_>, stronger: Stronger<'_>, names: Names) -> String {
    fill(
        "{}, as {} needs",
        &[&told.now_pulls(names), &names.show(stronger.name)],
    )
}
