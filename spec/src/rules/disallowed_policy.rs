//! **disallowed-policy**: applies `images.requireAlways`, `images.forbidAlways` and
//! `images.forbidNever`.

use crate::pod::{Event, Pod};
use crate::policy::PullPolicy;
use crate::rules::default;
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    for place in pod.examined() {
        let Some(image) = pod.reference(place) else {
            continue;
        };
        let policy = pod.places[place].policy;
        let required = pod.settings.requires_always(&image);
        let forbidden = pod.settings.forbids_always(&image);
        let wanted = if required && forbidden {
            // If `requireAlways` and `forbidAlways` both match the image, the finding names both
            // patterns and has no repair. A forbidden pull policy counts as not chosen. So the
            // default of the image, if one applies, replaces it before the finding is made.
            let text = &pod.places[place].image;
            let default = default::configured(pod.settings, text, pod.is_check(place))
                .filter(|_| default::is_forbidden(pod.settings, &image, policy))
                .filter(|&default| !default::stands(pod, place, default))
                .filter(|_| pod.event != Event::PodUpdate);
            if let Some(default) = default {
                pod.set_policy("disallowed-policy", place, default, false);
            }
            None
        } else if required && policy != PullPolicy::Always {
            // Images that `requireAlways` names must be pulled with `Always`.
            Some(PullPolicy::Always)
        } else if !required && default::is_forbidden(pod.settings, &image, policy) {
            // `forbidAlways` forbids `Always` for the images that it names, and `forbidNever`
            // forbids `Never`. A forbidden pull policy counts as not chosen, so the default
            // replaces it. If no default applies, the pull policy becomes `IfNotPresent`.
            let text = &pod.places[place].image;
            let default = default::configured(pod.settings, text, pod.is_check(place))
                .filter(|&default| !default::stands(pod, place, default))
                .filter(|_| pod.event != Event::PodUpdate);
            Some(default.unwrap_or(PullPolicy::IfNotPresent))
        } else {
            continue;
        };
        match wanted {
            Some(wanted) if pod.event != Event::PodUpdate => {
                pod.set_policy("disallowed-policy", place, wanted, true);
            }
            // At UPDATE of a Pod the finding has no repair, because a Pod's pull policies are
            // immutable. The finding also has none if `requireAlways` and `forbidAlways` both match.
            _ => {
                let path = pod.policy_path(place);
                pod.find(
                    "disallowed-policy",
                    place,
                    path,
                    Repair::None,
                    Weight::Rejects,
                );
            }
        }
    }
}
