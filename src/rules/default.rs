//! *default*: a container or image volume whose author chose no pull policy gets `Always`, if `images.defaultAlways`
//! matches its image.
//!
//! A webhook never sees an unset pull policy, because the API server fills it in first. So a pull policy that equals the
//! server default counts as not chosen.

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{Pattern, PullPolicy};
use crate::request::Operation;

/// Raises the pull policies that equal the server default. An image with a digest never changes, so it keeps its own.
pub(super) fn raise(examination: &mut Examination<'_>) {
    if examination.request.operation == Operation::PodUpdate {
        return;
    }
    for index in 0..examination.places.len() {
        let Some(place) = examination.places.get_mut(index).filter(|place| place.takes_part())
        else {
            continue;
        };
        let Ok(image) = place.reference else { continue };
        let is_chosen = place.policy.now != PullPolicy::server_default(Some(&image));
        let may_be_always = place.settings.forbid_always.is_none()
            && image.digest().is_none()
            && !image.is_image_id();
        if let Some(pattern) = place.settings.default_always.filter(|_| may_be_always && !is_chosen)
        {
            place.policy.set(PullPolicy::Always, Rule::Default);
            examination.find(index, Subject::PullPolicy, Effect::Repairable, NotChosen(pattern));
        }
    }
}

/// Nobody chose the pull policy, and a pattern of `images.defaultAlways` matches the image.
#[derive(Debug)]
struct NotChosen<'o>(&'o Pattern);

impl Reason for NotChosen<'_> {
    fn rule(&self) -> Rule {
        Rule::Default
    }

    fn problem(&self, place: &Place<'_>) -> String {
        let pattern = self.0.as_str();
        format!("{}, which nobody chose, but images.defaultAlways has {pattern}", place.pulls())
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.set_policy()
    }
}
