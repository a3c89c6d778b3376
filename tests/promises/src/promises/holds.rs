//! What holds in a Pod that `Fix` returned, unless a warning says otherwise.

use super::{Kept, OfRepair, Repaired, hold};
use crate::image::PullPolicy;
use crate::json::text;
use crate::words::Place;

pub(super) const PROMISES: [OfRepair; 7] = [
    ("no-image-is-invalid", images_are_valid),
    ("checks-are-as-strong-as-what-they-check", checks_are_strong),
    ("every-guarded-image-is-covered", images_are_covered),
    ("require-always-holds", always_is_required),
    ("forbid-always-holds", always_is_forbidden),
    ("forbid-never-holds", never_is_forbidden),
    ("a-pulled-image-is-not-asked-for-again", nothing_is_pulled_twice),
];

fn no(wrong: Option<&Place>) -> Kept {
    hold(wrong.is_none(), || format!("{wrong:?}"))
}

fn images_are_valid(repaired: &Repaired) -> Kept {
    let pod = &repaired.new;
    no(pod.examined().find(|place| pod.is_invalid(place)))
}

/// Each guarded place whose image has a check has one that is at least as strong.
fn checks_are_strong(repaired: &Repaired) -> Kept {
    let pod = &repaired.new;
    let is_weak = |place: &&Place| {
        let strongest = pod.checks_of(place).map(|check| check.pull_policy).max();
        strongest.is_some_and(|strongest| strongest < place.pull_policy)
    };
    no(pod.guarded().find(is_weak))
}

/// With `coverage: Fix`, each guarded image of a Pod that coverage applies to is covered. If nothing can be added,
/// a warning names the image.
fn images_are_covered(repaired: &Repaired) -> Kept {
    let (pod, observed) = (&repaired.new, repaired.observed);
    if repaired.settings().coverage() != "Fix" || !pod.is_under_coverage() {
        return Ok(());
    }
    let mut changes = repaired.observed.list("changes").into_iter();
    let nothing_is_added = !changes.any(|change| change["rule"] == "missing-check");
    let warnings = observed.warnings();
    let is_warned_of = |place: &Place| {
        let mut pairs = repaired.pairs();
        warnings.len() == 10
            || pairs.any(|(old, new)| {
                let mut warnings = warnings.iter().map(text);
                new.is_same_image(place)
                    && (old.image.len() > 200 || warnings.any(|line| line.contains(old.image)))
            })
    };
    no(pod
        .guarded()
        .find(|place| !(pod.is_covered(place) || nothing_is_added && is_warned_of(place))))
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
            && place.pull_policy == PullPolicy::Always
    }))
}

fn never_is_forbidden(repaired: &Repaired) -> Kept {
    let settings = repaired.settings();
    no(repaired.new.examined().find(|place| {
        settings.matches("images.forbidNever", place.image)
            && place.pull_policy == PullPolicy::Never
    }))
}

/// In a Pod with image checks, no guarded container asks the registry again for an image that *pull-once* says is
/// pulled.
fn nothing_is_pulled_twice(repaired: &Repaired) -> Kept {
    let (pod, settings) = (&repaired.new, repaired.settings());
    if !pod.has_checks() {
        return Ok(());
    }
    no(pod.guarded().find(|place| {
        place.is_container()
            && place.pull_policy == PullPolicy::Always
            && !settings.matches("images.requireAlways", place.image)
            && pod.is_pulled_before(place)
    }))
}
