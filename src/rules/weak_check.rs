//! *weak-check*: an image check has to be at least as strong as every place with the same image
//! that starts after its pull, other image checks apart.
//!
//! A check with `IfNotPresent` passes if the node has an old image. A container with `Always` then
//! asks the registry. If the registry fails, the container hangs in `ImagePullBackOff`
//! (agent-stack-k8s#846). Each check is measured by itself, because each can pass on an old image.

use std::cmp::Reverse;

use crate::examination::{
    Effect, Examination, Place, Pull, Reason, Rule, Subject, strongest_after_checks,
};
use crate::image::PullPolicy;

/// Raises the checks that are too weak. `images` has the indexes of the places with each image.
pub(super) fn raise(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    for places in images {
        let has_check = examination.at(places).any(|(_, place)| place.is_check());
        let after_checks = if has_check {
            strongest_after_checks(&examination.at(places).collect::<Vec<_>>())
        } else {
            Vec::new()
        };
        for (check, strongest) in after_checks {
            raise_to(examination, check, strongest);
        }
    }
}

/// Raises a check, if it is weaker than this pull.
fn raise_to(examination: &mut Examination<'_>, check: usize, (needed, Reverse(strongest)): Pull) {
    let Some(strongest) = examination.places.get(strongest) else {
        return;
    };
    let weak = Weak {
        strongest: strongest.shown_name().into_owned(),
        needed,
    };
    if let Some(place) = examination.places.get_mut(check)
        && place.policy.now < needed
    {
        place.set_policy(needed, Rule::WeakCheck);
        let subject = Subject::PullPolicy(Some(needed));
        examination
            .findings
            .add(check, Rule::WeakCheck, subject, Effect::Repairable, weak);
    }
}

/// A place that starts after a check is stronger than the check.
#[derive(Debug)]
struct Weak {
    /// The name of the place, as a sentence shows it.
    strongest: String,
    /// Its pull policy.
    needed: PullPolicy,
}

impl Reason for Weak {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let (strongest, needed) = (&self.strongest, self.needed.as_str());
        format!(
            "{} but {strongest} pulls it with {needed}",
            place.pulls(image)
        )
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.advice()
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        Some(format!(
            "{}, as {} needs",
            place.now_pulls(),
            self.strongest
        ))
    }
}
