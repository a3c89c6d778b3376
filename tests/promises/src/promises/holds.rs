//! What holds in a Pod that `Fix` returned, unless a warning says otherwise.

use super::{Kept, OfRepair, Repaired, hold};
use crate::image::PullPolicy;
use crate::words::Place;

pub(super) const PROMISES: [OfRepair; 4] = [
    ("no-image-is-invalid", images_are_valid),
    ("require-always-holds", always_is_required),
    ("forbid-always-holds", always_is_forbidden),
    (
        "a-pulled-image-is-not-asked-for-again",
        nothing_is_pulled_twice,
    ),
];

fn no(wrong: Option<&Place>) -> Kept {
    hold(wrong.is_none(), || format!("{wrong:?}"))
}

fn images_are_valid(repaired: &Repaired) -> Kept {
    let pod = &repaired.new;
    no(pod.examined().find(|place| pod.is_invalid(place)))
}

fn always_is_required(repaired: &Repaired) -> Kept {
    let settings = repaired.settings();
    no(repaired.new.examined().find(|place| {
        settings.matches("images.requireAlways", place.image)
            && place.pull_policy != PullPolicy::Always
    }))
}

fn always_is_forbidden(repaired: &Repaired) -> Kept {
    let settings = repaired.settings();
    no(repaired.new.examined().find(|place| {
        settings.matches("images.forbidAlways", place.image)
            && !settings.matches("images.requireAlways", place.image)
            && place.pull_policy == PullPolicy::Always
    }))
}

/// In a Pod with image checks, no container asks the registry again for an image that *pull-once*
/// says is pulled.
fn nothing_is_pulled_twice(repaired: &Repaired) -> Kept {
    let (pod, settings) = (&repaired.new, repaired.settings());
    if !pod.has_checks() {
        return Ok(());
    }
    no(pod.examined().find(|place| {
        place.pull_policy == PullPolicy::Always
            && !settings.matches("images.requireAlways", place.image)
            && pod.is_pulled_before(place)
    }))
}
