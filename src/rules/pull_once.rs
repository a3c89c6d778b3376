//! *pull-once*: a container whose image was pulled with `Always` before it starts doesn't ask the registry again.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a second later can't hang the
//! job. The change corrects no mistake. So it is not a finding, and the modes `Reject` and `Warn` don't report it.
//!
//! A check volume doesn't count by default: another webhook that writes the Pod with older types drops the volume's `image`
//! without a word, and a lowered container would then run an old image that nobody asked for.

use crate::examination::{Examination, Followers, Moment, Place, Role, Rule};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::settings::PullOnce;

/// Replaces `Always` with `IfNotPresent` in guarded containers whose image is pulled with `Always` before they start.
/// `images` has the indexes of the places with each image.
pub(super) fn lower(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    let pull_once = examination.settings.pull_once;
    if pull_once == PullOnce::Off || !examination.has_checks() {
        return;
    }
    for places in images {
        let Some(pulled) = examination
            .at(places)
            .filter_map(|(_, place)| pulled(place, pull_once))
            .min()
        else {
            continue;
        };
        for index in places {
            if let Some(place) = examination.places.get_mut(*index)
                && is_spared(place, pulled)
            {
                place.policy.set(PullPolicy::IfNotPresent, Rule::PullOnce);
            }
        }
    }
}

/// The moment from which on the pull of this place spares others theirs. None if it spares none.
fn pulled(place: &Place<'_>, pull_once: PullOnce) -> Option<Moment> {
    let is_init = place.list == List::InitContainers;
    let counts = is_init || (place.role == Role::Check && pull_once == PullOnce::AfterAnyCheck);
    match place.start.followers {
        Followers::From(moment) if counts && place.policy.now == PullPolicy::Always => Some(moment),
        _ => None,
    }
}

/// Whether a place needs no second pull, because its image is pulled with `Always` before this moment.
fn is_spared(place: &Place<'_>, pulled: Moment) -> bool {
    place.role == Role::Guarded
        && place.list != List::Volumes
        && place.policy.now == PullPolicy::Always
        && place.settings.require_always.is_none()
        && place.start.moment >= Some(pulled)
}
