//! *preferred-policy*: `IfNotPresent` becomes `Always`, if `images.preferAlways` matches the image.
//!
//! It doesn't matter who wrote `IfNotPresent`. Nobody can tell, because the API server and controllers write it too, some
//! controllers even for the tag `latest`.

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{Pattern, PullPolicy};
use crate::request::Operation;

/// Raises the pull policies. An image with a digest never changes, so it keeps `IfNotPresent`.
pub(super) fn raise(examination: &mut Examination<'_>) {
    if examination.request.operation == Operation::PodUpdate {
        return;
    }
    let places = examination.places.iter_mut().enumerate();
    for (index, place) in places.filter(|(_, place)| place.takes_part()) {
        let may_be_always = place.policy.now == PullPolicy::IfNotPresent
            && place.settings.forbid_always.is_none()
            && place
                .reference
                .is_ok_and(|image| image.digest().is_none() && !image.is_image_id());
        if let Some(pattern) = place.settings.prefer_always.filter(|_| may_be_always) {
            place.policy.set(PullPolicy::Always, Rule::PreferredPolicy);
            let reason = NotPreferred(pattern);
            examination.findings.add(
                index,
                Rule::PreferredPolicy,
                Subject::PullPolicy,
                Effect::Preference,
                reason,
            );
        }
    }
}

/// The pull policy is `IfNotPresent`, and a pattern of `images.preferAlways` matches the image.
#[derive(Debug)]
struct NotPreferred<'o>(&'o Pattern);

impl Reason for NotPreferred<'_> {
    fn problem(&self, place: &Place<'_>) -> String {
        format!(
            "{} but images.preferAlways has {}",
            place.pulls(),
            self.0.as_str()
        )
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.set_policy()
    }
}
