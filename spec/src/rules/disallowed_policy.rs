//! **disallowed-policy**: applies `images.requireAlways`, `images.forbidAlways` and
//! `images.forbidNever`.

use crate::pod::{Pod, RequestKind};
use crate::policy::PullPolicy;
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    for place in pod.examined() {
        let Some(image) = pod.reference(place) else {
            continue;
        };
        let policy = pod.places[place].policy;
        let wanted = if pod.settings.contradict_each_other(&image) {
            // The finding names both patterns.
            None
        } else if pod.settings.requires_always(&image) {
            Some(PullPolicy::Always)
        } else if policy == PullPolicy::Always && pod.settings.forbids_always(&image)
            || policy == PullPolicy::Never && pod.settings.forbids_never(&image)
        {
            Some(PullPolicy::IfNotPresent)
        } else {
            continue;
        };
        // At UPDATE of a Pod the finding has no repair, because a Pod's pull policies are immutable.
        match wanted.filter(|_| pod.request_kind != RequestKind::PodUpdate) {
            Some(wanted) => pod.set_policy("disallowed-policy", place, wanted, true),
            None if wanted == Some(policy) => {}
            None => {
                let (rule, path) = ("disallowed-policy", pod.policy_path(place));
                pod.find(rule, place, path, Repair::None, Weight::Rejects);
            }
        }
    }
}
