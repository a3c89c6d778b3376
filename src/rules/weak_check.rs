//! *weak-check*: the strongest check of an image has to be at least as strong as the strongest guarded place with this
//! image.
//!
//! A check with `IfNotPresent` passes if the node has an old image. A container with `Always` then asks the registry. If the
//! registry fails, the container hangs in `ImagePullBackOff` (agent-stack-k8s#846).

use std::rc::Rc;

use crate::examination::{Coverage, Examination, Place, Pulls, Reason, Rule, Why};
use crate::image::PullPolicy;
use crate::shown::shown;

/// Raises the first check of each image whose checks are too weak.
pub(super) fn raise(examination: &mut Examination<'_>, coverage: &Coverage) {
    for pulls in &coverage.images {
        raise_first(&mut examination.places, pulls);
    }
}

/// Raises the first check of an image, if all are too weak. Returns None if nothing is to do.
fn raise_first(places: &mut [Place<'_>], pulls: &Pulls) -> Option<()> {
    let needed = pulls.needed?;
    let checks = pulls.checks.iter().filter_map(|check| places.get(*check));
    let strongest = checks.map(|check| check.policy.now).max()?;
    if strongest < needed {
        let guarded = places.get(pulls.strongest?)?.name.to_string();
        let check = places.get_mut(*pulls.checks.first()?)?;
        check.policy.set(needed, Why::Finding(Rc::new(Weak { guarded, needed })));
    }
    Some(())
}

/// A guarded place has a stronger pull policy than its checks.
#[derive(Debug)]
struct Weak {
    /// The name of the guarded place.
    guarded: String,
    /// Its pull policy.
    needed: PullPolicy,
}

impl Reason for Weak {
    fn rule(&self) -> Rule {
        Rule::WeakCheck
    }

    fn problem(&self, place: &Place<'_>) -> String {
        let (guarded, needed) = (shown(&self.guarded), self.needed.as_str());
        format!("{} but {guarded} pulls it with {needed}", place.pulls())
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.set_policy()
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        Some(format!("{}, as {} needs", place.now_pulls(), shown(&self.guarded)))
    }
}
