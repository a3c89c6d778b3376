//! *pull-once*: a container whose image was pulled with `Always` before it starts doesn't ask the registry again.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a second later can't hang the
//! job. The change corrects no mistake. So it is not a finding, and the modes `Reject` and `Warn` don't report it.
//!
//! A check volume doesn't count by default: another webhook that writes the Pod with older types drops the volume's `image`
//! without a word, and a lowered container would then run an old image that nobody asked for.

use std::collections::BTreeMap;

use crate::examination::{Examination, Place, Role, Rule, Why};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::settings::PullOnce;

/// Replaces `Always` with `IfNotPresent` in guarded containers whose image is pulled with `Always` before they start.
pub(super) fn lower(examination: &mut Examination<'_>) {
    if examination.settings.pull_once == PullOnce::Off || !examination.has_checks() {
        return;
    }
    let mut pulled: BTreeMap<String, usize> = BTreeMap::new();
    for place in examination.places.iter().filter(|place| place.takes_part()) {
        if let Some(index) = pulls_before(examination, place) {
            let first = pulled.entry(place.same_image().into_owned()).or_insert(index);
            *first = index.min(*first);
        }
    }
    let is_spared = |examination: &Examination<'_>, place: &Place<'_>| {
        let starts = (place.list == List::InitContainers).then(|| examination.index_after(place));
        let pulled = pulled.get(&*place.same_image());
        place.role == Role::Guarded
            && place.list != List::Volumes
            && place.policy.now == PullPolicy::Always
            && place.settings.require_always.is_none()
            && pulled.is_some_and(|pulled| starts.is_none_or(|starts| *pulled < starts))
    };
    let spared: Vec<bool> =
        examination.places.iter().map(|place| is_spared(examination, place)).collect();
    for (place, is_spared) in examination.places.iter_mut().zip(spared) {
        if is_spared {
            place.policy.set(PullPolicy::IfNotPresent, Why::NoFinding(Rule::PullOnce));
        }
    }
}

/// The index, in the returned object, of the init container after whose end the image of this place was pulled with
/// `Always`. None if the place pulls in another way, or too late.
fn pulls_before(examination: &Examination<'_>, place: &Place<'_>) -> Option<usize> {
    let is_check_volume = place.role == Role::Check && place.carriers.is_on_first_init;
    let index = if place.ends() {
        Some(examination.index_after(place))
    } else if is_check_volume && examination.settings.pull_once == PullOnce::AfterAnyCheck {
        examination.first_init
    } else {
        None
    };
    index.filter(|_| place.policy.now == PullPolicy::Always)
}
