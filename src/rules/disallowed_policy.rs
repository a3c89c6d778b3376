//! *disallowed-policy*: images that have to be pulled with `Always`, and images that must not be.

use super::{Cause, Told, Work};
use crate::pattern::ImagePattern;
use crate::pull_policy::PullPolicy;
use crate::sentence::{Names, fill};

/// Which of the two settings names the image.
#[derive(Clone, Copy, Debug)]
pub enum Disallowed<'p> {
    /// `images.requireAlways`
    Require(&'p ImagePattern<'p>),
    /// `images.forbidAlways`
    Forbid(&'p ImagePattern<'p>),
    /// Both.
    Conflict(&'p ImagePattern<'p>, &'p ImagePattern<'p>),
}

/// Applies both settings to every entry.
pub fn apply(work: &mut Work<'_>) {
    let repairable = work.review.event.may_change_policy();
    for index in 0..work.entries.len() {
        let Some(entry) = work.entries.get_mut(index) else {
            return;
        };
        let (expected, cause) = match (entry.require_always, entry.forbid_always) {
            (Some(require), Some(forbid)) => {
                let conflict = Disallowed::Conflict(require, forbid);
                work.reject(index, Cause::DisallowedPolicy(conflict));
                continue;
            }
            (Some(require), None) => (PullPolicy::Always, Disallowed::Require(require)),
            (None, Some(forbid)) if entry.policy == PullPolicy::Always => {
                (PullPolicy::IfNotPresent, Disallowed::Forbid(forbid))
            }
            (None, _) => continue,
        };
        if repairable {
            entry.set_policy(expected, Cause::DisallowedPolicy(cause));
        } else if entry.policy != expected {
            work.reject(index, Cause::DisallowedPolicy(cause));
        }
    }
}

/// What is wrong, and the way out.
#[must_use]
pub fn sentence(
    told: &Told<'_>,
    disallowed: &Disallowed<'_>,
    repairable: bool,
    names: Names,
) -> String {
    let pulls = told.pulls(names);
    let (setting, pattern) = match disallowed {
        Disallowed::Require(pattern) => ("images.requireAlways", pattern),
        Disallowed::Forbid(pattern) => ("images.forbidAlways", pattern),
        Disallowed::Conflict(require, forbid) => {
            return fill(
                "{} pulls {}, but images.requireAlways has {} and images.forbidAlways has {}: take one out of the policy's settings",
                &[
                    &names.show(told.name),
                    &names.show(told.image),
                    &names.show(require.as_str()),
                    &names.show(forbid.as_str()),
                ],
            );
        }
    };
    let way_out = if repairable {
        told.way_out(names)
    } else {
        fill(
            "a running Pod's policy can't change, recreate it with {}",
            &[told.expected],
        )
    };
    fill(
        "{} but {} has {}: {}",
        &[&pulls, setting, &names.show(pattern.as_str()), &way_out],
    )
}

/// The repair.
#[must_use]
pub fn repaired(told: &Told<'_>, disallowed: &Disallowed<'_>, names: Names) -> String {
    let setting = match disallowed {
        Disallowed::Forbid(_) => "images.forbidAlways",
        Disallowed::Require(_) | Disallowed::Conflict(..) => "images.requireAlways",
    };
    fill("{} ({})", &[&told.now_pulls(names), setting])
}
