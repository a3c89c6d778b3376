//! *pull-once*: in a Pod with image checks, a container whose image an init container (a check, a
//! native sidecar or any other) has pulled with `Always` doesn't ask the registry again.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a
//! second later can't hang the job. The change corrects no mistake. So it is not a finding, and the
//! modes `Reject` and `Warn` don't report it.
//!
//! A check volume doesn't count: another webhook that writes the Pod with older types drops the
//! volume's `image` without a word, and a lowered container would then run an old image that nobody
//! asked for.

use crate::examination::{Examination, Rule};
use crate::image::PullPolicy;
use crate::pod::List;

/// Replaces `Always` with `IfNotPresent` in the containers that start after an init container with
/// the same image and `Always`. `images` has the indexes of the places with each image.
pub(super) fn lower(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    if !examination.settings.pull_once || !examination.has_checks() {
        return;
    }
    for (number, places) in images.iter().enumerate() {
        let added = examination.additions.as_ref();
        let added = added.and_then(|added| added.asked_before(number));
        let pulls = examination.at(places).filter(|(_, place)| {
            place.entry.list == List::InitContainers && place.policy.now == PullPolicy::Always
        });
        let Some(pulled) = pulls
            .filter_map(|(_, place)| place.start.followed_from())
            .chain(added)
            .min()
        else {
            continue;
        };
        for index in places {
            if let Some(place) = examination.places.get_mut(*index)
                && place.policy.now == PullPolicy::Always
                && place.start.moment() >= Some(pulled)
                && !place.is_check()
                && place.entry.list != List::Volumes
                && place.entry.settings.require_always.is_none()
            {
                place.set_policy(PullPolicy::IfNotPresent, Rule::PullOnce);
            }
        }
    }
}
