//! **default**: if the author of a place chose no pull policy, the place gets
//! `defaults.imagePullPolicy`. The rule works on examined entries of `containers`, `initContainers`,
//! `ephemeralContainers` and `volumes`.

use crate::pod::Pod;
use crate::policy::{PullPolicy, server_default};

pub(crate) fn apply(pod: &mut Pod) {
    for place in pod.examined() {
        if let Some(default) = replacement(pod, place, pod.places[place].policy) {
            pod.set_policy("default", place, default, true);
        }
    }
}

/// The default that replaces a pull policy of a place. `None` if no default replaces it.
pub(super) fn replacement(pod: &Pod, place: usize, policy: PullPolicy) -> Option<PullPolicy> {
    let image = pod.reference(place)?;
    // A pull policy that equals the server default counts as not chosen.
    let is_chosen = policy != server_default(&pod.places[place].image);
    if is_chosen || image.is_image_id || pod.lacks_answers(place) {
        return None;
    }
    let has_digest = image.digest.is_some();
    let default = match pod.settings.default_policy()? {
        "AlwaysUnlessDigest" if has_digest => return None,
        "AlwaysUnlessDigest" => PullPolicy::Always,
        name => PullPolicy::read(name)?,
    };
    let applies = if default > policy {
        let is_pinned = has_digest && pod.settings.lookup(&image) == "Pin";
        !is_pinned && !pod.settings.forbids_always(&image)
    } else {
        !has_digest
            && !pod.settings.selects_for_lookup(&image)
            && !pod.settings.requires_always(&image)
    };
    applies.then_some(default)
}
