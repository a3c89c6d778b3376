//! *disallowed-policy*: images that have to be pulled with `Always`, images that must not be, and
//! images that must not be taken with `Never`.

use super::{Cause, Field, Rule, Told, Work};
use crate::pattern::ImagePattern;
use crate::pull_policy::PullPolicy;
use crate::sentence::Names;

/// Which setting names the image.
#[derive(Clone, Copy, Debug)]
pub enum Disallowed<'p> {
    /// `images.requireAlways`
    RequireAlways(&'p ImagePattern),
    /// `images.forbidAlways`
    ForbidAlways(&'p ImagePattern),
    /// `images.forbidNever`
    ForbidNever(&'p ImagePattern),
}

/// Applies the settings to every entry.
pub fn apply(work: &mut Work<'_>) {
    let repairable = work.review.event.may_change_policy();
    let mut problems = Vec::new();
    for entry in &mut work.entries {
        let (expected, disallowed) = match (entry.require_always, entry.policy) {
            (Some(require), policy) => {
                if let Some(forbid) = entry.forbid_always {
                    problems.push(entry.problem(Field::Policy, None, Conflict(require, forbid)));
                    continue;
                }
                if policy == PullPolicy::Always {
                    continue;
                }
                (PullPolicy::Always, Disallowed::RequireAlways(require))
            }
            (None, PullPolicy::Always) => match entry.forbid_always {
                Some(forbid) => (PullPolicy::IfNotPresent, Disallowed::ForbidAlways(forbid)),
                None => continue,
            },
            (None, PullPolicy::Never) => match entry.forbid_never {
                Some(forbid) => (PullPolicy::IfNotPresent, Disallowed::ForbidNever(forbid)),
                None => continue,
            },
            (None, PullPolicy::IfNotPresent) => continue,
        };
        if repairable {
            entry.set_policy(expected, disallowed);
        } else {
            let unrepairable = Unrepairable(disallowed);
            problems.push(entry.problem(Field::Policy, Some(expected.as_str()), unrepairable));
        }
    }
    work.problems.append(&mut problems);
}

impl Disallowed<'_> {
    const fn setting(&self) -> (&'static str, &ImagePattern) {
        match self {
            Self::RequireAlways(pattern) => ("images.requireAlways", pattern),
            Self::ForbidAlways(pattern) => ("images.forbidAlways", pattern),
            Self::ForbidNever(pattern) => ("images.forbidNever", pattern),
        }
    }

    fn with_way_out(&self, told: &Told<'_>, names: Names, way_out: &str) -> String {
        let (setting, pattern) = self.setting();
        let (pulls, pattern) = (told.pulls(names), names.show(pattern.as_str()));
        format!("{pulls} but {setting} has {pattern}: {way_out}")
    }
}

impl Cause for Disallowed<'_> {
    fn rule(&self) -> Rule {
        Rule::DisallowedPolicy
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        self.with_way_out(told, names, &told.way_out(names))
    }

    fn repaired(&self, told: &Told<'_>, names: Names) -> Option<String> {
        let (setting, _) = self.setting();
        Some(format!("{} ({setting})", told.now_pulls(names)))
    }
}

/// The policy of a Pod that exists, which is immutable.
#[derive(Clone, Copy, Debug)]
struct Unrepairable<'p>(Disallowed<'p>);

impl Cause for Unrepairable<'_> {
    fn rule(&self) -> Rule {
        Rule::DisallowedPolicy
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let expected = told.expected;
        let way_out = format!("a running Pod's policy can't change, recreate it with {expected}");
        self.0.with_way_out(told, names, &way_out)
    }
}

/// Two settings that contradict each other name the image.
#[derive(Clone, Copy, Debug)]
struct Conflict<'p>(&'p ImagePattern, &'p ImagePattern);

impl Cause for Conflict<'_> {
    fn rule(&self) -> Rule {
        Rule::DisallowedPolicy
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let Self(require, forbid) = self;
        format!(
            "{} pulls {}, but images.requireAlways has {} and images.forbidAlways has {}: take one out of the policy's settings",
            names.show(told.name),
            names.show(told.image),
            names.show(require.as_str()),
            names.show(forbid.as_str()),
        )
    }
}
