//! What the settings demand after a failed lookup.

use super::Image;
use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::PullPolicy;
use crate::lookup::{Class, Failure};
use crate::settings::Action;

/// Does what the settings demand after the lookup of this image failed.
pub(super) fn use_failure(examination: &mut Examination<'_>, image: &Image<'_>, failure: Failure) {
    let registry = &examination.settings.registry;
    let action = match failure.class() {
        Class::NotFound => registry.on_not_found,
        Class::Denied => registry.on_denied,
        Class::NoAnswer => registry.on_no_answer,
    };
    let done = match action {
        Action::UseCached if failure.can_use_cached() => {
            use_cached(examination, &image.places, failure)
        }
        Action::UseCached | Action::KeepTag => Action::KeepTag,
        Action::Reject => {
            if let Some(first) = image.places.first() {
                let (subject, effect) = (Subject::Image(None), Effect::NotRepairable);
                let reason = FailedLookup { failure, action };
                examination
                    .findings
                    .add(*first, Rule::Registry, subject, effect, reason);
            }
            Action::Reject
        }
    };
    let asked = image.reference.as_written();
    examination.failed_lookups.push((asked, done, failure));
}

/// Lets these places use the image that the node has: `Always` becomes `IfNotPresent`, except where
/// `images.requireAlways` matches. Returns `KeepTag` if nothing was lowered.
fn use_cached(examination: &mut Examination<'_>, places: &[usize], failure: Failure) -> Action {
    let mut done = Action::KeepTag;
    for index in places {
        if let Some(place) = examination.places.get_mut(*index)
            && place.policy.now == PullPolicy::Always
            && place.settings.require_always.is_none()
            && place.policy.set(PullPolicy::IfNotPresent, Rule::Registry)
        {
            done = Action::UseCached;
            let subject = Subject::PullPolicy(Some(PullPolicy::IfNotPresent));
            let (effect, reason) = (
                Effect::Repairable,
                FailedLookup {
                    failure,
                    action: done,
                },
            );
            examination
                .findings
                .add(*index, Rule::Registry, subject, effect, reason);
        }
    }
    done
}

/// The lookup failed. The settings reject the image, or they allow the copy that the node already
/// has.
#[derive(Debug)]
struct FailedLookup {
    failure: Failure,
    action: Action,
}

impl Reason for FailedLookup {
    fn problem(&self, place: &Place<'_>) -> String {
        if self.action == Action::UseCached {
            return format!("{} but its registry gives no digest", place.pulls());
        }
        let (name, image) = (place.shown_name(), place.shown_image());
        format!("{name}'s image {image} {}", self.failure.problem())
    }

    fn help(&self, place: &Place<'_>) -> String {
        match self.action {
            Action::UseCached => place.set_policy(),
            _ => self.failure.help().to_owned(),
        }
    }

    fn is_momentary(&self) -> bool {
        self.failure.is_momentary()
    }
}
