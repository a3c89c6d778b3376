//! What the settings demand after a failed lookup.

use super::Image;
use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::PullPolicy;
use crate::lookup::{Class, Failure};
use crate::request::Operation;
use crate::settings::Action;

/// Does what the settings demand after the lookup of this image failed. `is_of_pods` is false if
/// only a pod template asks for the image: then the failure rejects no Pod.
pub(super) fn use_failure(
    examination: &mut Examination<'_>,
    image: &Image<'_>,
    failure: Failure,
    is_of_pods: bool,
) {
    let registry = &examination.settings.registry;
    let action = match failure.class() {
        _ if !is_of_pods => Action::Allow,
        Class::NotFound => registry.on_not_found,
        Class::Denied => registry.on_denied,
        Class::Unavailable => registry.on_unavailable,
    };
    let may_set = examination.request.operation.may_set_policies();
    let done = match action {
        Action::UseCached if failure.can_use_cached() && may_set => {
            use_cached(examination, &image.places, failure)
        }
        Action::UseCached | Action::Allow => Action::Allow,
        Action::Reject => Action::Reject,
    };
    let rejects_pods = action == Action::Reject;
    let is_template = examination.request.operation == Operation::Template;
    let effect = match failure.class() {
        // `podTemplates` decides, because a person is there to read it.
        Class::NotFound if is_template => Some(Effect::NotFound { rejects_pods }),
        _ => rejects_pods.then_some(Effect::NotRepairable),
    };
    if let (Some(first), Some(effect)) = (image.places.first(), effect) {
        let (subject, reason) = (Subject::Image(None), FailedLookup(failure));
        examination
            .findings
            .add(*first, Rule::Registry, subject, effect, reason);
    }
    let asked = image.reference.as_written();
    examination.failed_lookups.push((asked, done, failure));
}

/// Lets these places use the image that the node has: `Always` becomes `IfNotPresent`, except where
/// `images.requireAlways` matches. Returns `Allow` if nothing was lowered.
fn use_cached(examination: &mut Examination<'_>, places: &[usize], failure: Failure) -> Action {
    let mut done = Action::Allow;
    for index in places {
        if let Some(place) = examination.places.get_mut(*index)
            && place.policy.now == PullPolicy::Always
            && place.entry.settings.require_always.is_none()
        {
            place.set_policy(PullPolicy::IfNotPresent, Rule::Registry);
            done = Action::UseCached;
            let subject = Subject::PullPolicy(Some(PullPolicy::IfNotPresent));
            let (effect, reason) = (Effect::Repairable, NoDigest(failure));
            examination
                .findings
                .add(*index, Rule::Registry, subject, effect, reason);
        }
    }
    done
}

/// The lookup failed, and the settings reject the image.
#[derive(Debug)]
struct FailedLookup(Failure);

impl Reason for FailedLookup {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let name = place.shown_name();
        format!("{name}'s image {image} {}", self.0.problem())
    }

    fn help(&self, _: &Place<'_>) -> String {
        self.0.help().to_owned()
    }

    fn is_momentary(&self) -> bool {
        self.0.is_momentary()
    }
}

/// The lookup failed, and the settings allow the copy that the node already has.
#[derive(Debug)]
struct NoDigest(Failure);

impl Reason for NoDigest {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        format!("{} but its registry gives no digest", place.pulls(image))
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.advice()
    }

    fn is_momentary(&self) -> bool {
        self.0.is_momentary()
    }
}
