//! *disallowed-policy*: `images.requireAlways` and `images.forbidAlways` replace pull policies.
//! `images.forbidNever` only reports, because the image that a node has under this name may be
//! another one than a registry's.

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{Pattern, PullPolicy};

/// Replaces or reports the pull policies that the settings disallow. In an existing Pod, pull
/// policies are immutable, so there is no repair.
pub(super) fn replace(examination: &mut Examination<'_>) {
    for (index, place) in examination.places.iter_mut().enumerate() {
        if !place.takes_part() {
            continue;
        }
        let Some(disallowed) = disallowed(place) else {
            continue;
        };
        let allowed = disallowed.allowed;
        let set = |allowed| place.policy.set(allowed, Rule::DisallowedPolicy);
        let is_repaired = allowed.is_some_and(set);
        let effect = if is_repaired {
            Effect::Repairable
        } else {
            Effect::NotRepairable
        };
        let subject = Subject::PullPolicy(allowed);
        examination
            .findings
            .add(index, Rule::DisallowedPolicy, subject, effect, disallowed);
    }
}

/// The settings disallow a pull policy.
#[derive(Debug)]
struct Disallowed<'o> {
    /// The settings that say so, each with its first pattern that matches the image.
    by: Vec<(&'static str, &'o Pattern)>,
    /// The pull policy to set instead. None if none is known to be right.
    allowed: Option<PullPolicy>,
}

/// Whether the settings disallow the pull policy of a place.
fn disallowed<'o>(place: &Place<'o>) -> Option<Disallowed<'o>> {
    let settings = place.settings;
    let require = settings
        .require_always
        .map(|pattern| ("images.requireAlways", pattern));
    let forbid = settings
        .forbid_always
        .map(|pattern| ("images.forbidAlways", pattern));
    let never = settings
        .forbid_never
        .map(|pattern| ("images.forbidNever", pattern));
    let (by, allowed) = match (require, forbid, place.policy.now) {
        (Some(require), Some(forbid), _) => (vec![require, forbid], None),
        (Some(_), None, PullPolicy::Always) => return None,
        (Some(require), None, _) => (vec![require], Some(PullPolicy::Always)),
        (None, Some(forbid), PullPolicy::Always) => (vec![forbid], Some(PullPolicy::IfNotPresent)),
        (None, _, PullPolicy::Never) => (vec![never?], None),
        (None, ..) => return None,
    };
    Some(Disallowed { by, allowed })
}

impl Reason for Disallowed<'_> {
    fn problem(&self, place: &Place<'_>) -> String {
        let settings = self
            .by
            .iter()
            .map(|(setting, pattern)| format!("{setting} has {}", pattern.as_str()));
        let settings: Vec<String> = settings.collect();
        format!("{} but {}", place.pulls(), settings.join(" and "))
    }

    fn help(&self, place: &Place<'_>) -> String {
        match self.allowed {
            Some(allowed) if place.policy.is_immutable => {
                format!(
                    "a Pod's pull policies can't change, so create it anew with {}",
                    allowed.as_str()
                )
            }
            Some(_) => place.set_policy(),
            None if self.by.len() > 1 => {
                "take one of the two patterns out of this policy's settings".to_owned()
            }
            None => {
                format!(
                    "set {} to IfNotPresent if a registry has this image",
                    place.shown_name()
                )
            }
        }
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        let settings: Vec<&str> = self.by.iter().map(|(setting, _)| *setting).collect();
        Some(format!("{} ({})", place.now_pulls(), settings.join(", ")))
    }
}
