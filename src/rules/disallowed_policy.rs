//! *disallowed-policy*: `images.requireAlways` and `images.forbidAlways` replace pull policies.

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{Pattern, PullPolicy};

/// Replaces or reports the pull policies that the settings disallow. In an existing Pod, pull
/// policies are immutable, so there is no repair.
pub(super) fn replace(examination: &mut Examination<'_>) {
    let may_set = examination.request.operation.may_set_policies();
    for (index, place) in examination.places.iter_mut().enumerate() {
        if !place.takes_part() {
            continue;
        }
        let Some(disallowed) = disallowed(place, may_set) else {
            continue;
        };
        let allowed = disallowed.allowed;
        let effect = if may_set {
            place.set_policy(allowed, Rule::DisallowedPolicy);
            Effect::Repairable
        } else {
            Effect::NotRepairable
        };
        let subject = Subject::PullPolicy(Some(allowed));
        examination
            .findings
            .add(index, Rule::DisallowedPolicy, subject, effect, disallowed);
    }
}

/// The settings disallow a pull policy.
#[derive(Debug)]
struct Disallowed<'o> {
    /// The setting that says so.
    setting: &'static str,
    /// Its first pattern that matches the image.
    pattern: &'o Pattern,
    /// The pull policy to set instead.
    allowed: PullPolicy,
    /// Whether the pull policy can be set.
    may_set: bool,
}

/// Whether the settings disallow the pull policy of a place. `requireAlways` takes precedence over
/// `forbidAlways`, so the one list can hold the exceptions of the other.
fn disallowed<'o>(place: &Place<'o>, may_set: bool) -> Option<Disallowed<'o>> {
    use PullPolicy::{Always, IfNotPresent, Never};
    let settings = place.entry.settings;
    let (setting, pattern, allowed) = match (
        place.policy.now,
        settings.require_always,
        settings.forbid_always,
    ) {
        (Always, None, Some(pattern)) => ("forbidAlways", pattern, IfNotPresent),
        (IfNotPresent | Never, Some(pattern), _) => ("requireAlways", pattern, Always),
        _ => return None,
    };
    Some(Disallowed {
        setting,
        pattern,
        allowed,
        may_set,
    })
}

impl Reason for Disallowed<'_> {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let (pulls, setting, pattern) = (place.pulls(image), self.setting, self.pattern.as_str());
        format!("{pulls} but images.{setting} has {pattern}")
    }

    fn help(&self, place: &Place<'_>) -> String {
        if self.may_set {
            return place.advice();
        }
        let allowed = self.allowed.as_str();
        format!("a Pod's pull policies can't change, so create it anew with {allowed}")
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        Some(format!("{} (images.{})", place.now_pulls(), self.setting))
    }
}
