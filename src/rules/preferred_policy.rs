//! *preferred-policy*: `IfNotPresent` becomes `Always`, if `images.preferAlways` matches the image.
//!
//! It doesn't matter who wrote `IfNotPresent`. Nobody can tell, because the API server and
//! controllers write it too, some controllers even for the tag `latest`.

use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{Pattern, PullPolicy};

/// Raises the pull policies. An image with a digest never changes, so it keeps `IfNotPresent`.
pub(super) fn raise(examination: &mut Examination<'_>) {
    if !examination.request.operation.may_set_policies() {
        return;
    }
    for (index, place) in examination.places.iter_mut().enumerate() {
        let can_change = place
            .entry
            .reference
            .is_ok_and(|image| image.digest().is_none() && !image.is_image_id());
        if place.takes_part()
            && can_change
            && place.policy.now == PullPolicy::IfNotPresent
            && place.entry.settings.forbid_always.is_none()
            && let Some(pattern) = place.entry.settings.prefer_always
        {
            place.set_policy(PullPolicy::Always, Rule::PreferredPolicy);
            let subject = Subject::PullPolicy(Some(PullPolicy::Always));
            let reason = NotPreferred(pattern);
            let effect = Effect::Preference;
            examination
                .findings
                .add(index, Rule::PreferredPolicy, subject, effect, reason);
        }
    }
}

/// The pull policy is `IfNotPresent`, and a pattern of `images.preferAlways` matches the image.
#[derive(Debug)]
struct NotPreferred<'o>(&'o Pattern);

impl Reason for NotPreferred<'_> {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        format!(
            "{} but images.preferAlways has {}",
            place.pulls(image),
            self.0.as_str()
        )
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.advice()
    }
}
