//! *weak-check*: the strongest of an image's checks has to be at least as strong as the guarded places that start after it.
//!
//! A check with `IfNotPresent` passes if the node has an old image. A container with `Always` then asks the registry. If the
//! registry fails, the container hangs in `ImagePullBackOff` (agent-stack-k8s#846).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::examination::{
    Effect, Examination, Followers, Moment, Place, Reason, Role, Rule, Subject,
};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::shown::shown;

/// Raises the checks that are too weak. `images` has the indexes of the places with each image.
pub(super) fn raise(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    let work = examination.work();
    for places in images {
        let (mut checks, mut gating) = (Vec::new(), Vec::new());
        for (index, check) in examination.with_role(places, Role::Check) {
            checks.push(index);
            if work.is_gated_by(check.start, check.list == List::InitContainers) {
                gating.push(index);
            }
        }
        if !gating.is_empty() {
            raise_gating(examination, places, &gating);
        } else if !checks.is_empty() {
            raise_earlier(examination, places, &checks);
        }
    }
}

/// Raises the first of the checks that gate the Pod, if all of them are weaker than a guarded place.
fn raise_gating(examination: &mut Examination<'_>, places: &[usize], gating: &[usize]) {
    let guarded = strongest_first(examination, places);
    let policies =
        gating.iter().filter_map(|check| Some(examination.places.get(*check)?.policy.now));
    if let (Some(guarded), Some(first)) = (guarded.first(), gating.first())
        && policies.max() < Some(guarded.policy)
    {
        raise_to(examination, *first, *guarded);
    }
}

/// Compares each guarded place with the checks that it starts after. None of the checks gates the Pod.
fn raise_earlier(examination: &mut Examination<'_>, places: &[usize], checks: &[usize]) {
    let checks = Checks::of(examination, checks);
    // The moment from which on everything starts after a raised check. Weaker places come later in this loop, so a raised
    // check is strong enough for them.
    let mut raised_from: Option<Moment> = None;
    for guarded in strongest_first(examination, places) {
        if raised_from.is_some_and(|moment| moment <= guarded.moment) {
            continue;
        }
        let earlier = checks.pulled_at(guarded.moment);
        let mounted = examination.places.get(guarded.index).map(|place| checks.mounted_by(place));
        let mounted = mounted.unwrap_or_default();
        let policies =
            mounted.iter().filter_map(|check| Some(examination.places.get(*check)?.policy.now));
        if policies.chain(earlier.map(|pulled| pulled.strongest)).max() >= Some(guarded.policy) {
            continue;
        }
        // Init containers come before volumes among the places, so the smallest index is that of the first check.
        let first = mounted.into_iter().chain(earlier.map(|pulled| pulled.first)).min();
        let Some(first) = first else { continue };
        raise_to(examination, first, guarded);
        let followers = examination.places.get(first).map(|check| check.start.followers);
        if let Some(Followers::From(moment)) = followers {
            raised_from = raised_from.into_iter().chain([moment]).min();
        }
    }
}

/// Raises a check to the pull policy of a guarded place.
fn raise_to(examination: &mut Examination<'_>, check: usize, guarded: Guarded) {
    let name = examination.places.get(guarded.index).map(|place| place.name.to_string());
    let weak = Weak { guarded: name.unwrap_or_default(), needed: guarded.policy };
    if let Some(check) = examination.places.get_mut(check) {
        check.policy.set(guarded.policy, Rule::WeakCheck);
    }
    examination.find(check, Subject::PullPolicy, Effect::Repairable, weak);
}

/// A guarded place.
#[derive(Clone, Copy)]
struct Guarded {
    index: usize,
    policy: PullPolicy,
    moment: Moment,
}

/// The guarded places among these, the strongest first, equals in the order of the Pod.
fn strongest_first(examination: &Examination<'_>, places: &[usize]) -> Vec<Guarded> {
    let guarded = examination.with_role(places, Role::Guarded).filter_map(|(index, place)| {
        Some(Guarded { index, policy: place.policy.now, moment: place.start.moment? })
    });
    let mut guarded: Vec<Guarded> = guarded.collect();
    guarded.sort_by_key(|place| Reverse(place.policy));
    guarded
}

/// The checks of one image.
struct Checks {
    /// Those that init containers pull. Each entry also stands for the entries before it, which have earlier moments.
    pulled: Vec<Pulled>,
    /// The volumes that only app containers mount, by name.
    on_apps: BTreeMap<String, usize>,
}

/// Checks after which everything starts from a moment on.
#[derive(Clone, Copy)]
struct Pulled {
    from: Moment,
    /// The smallest index.
    first: usize,
    /// The strongest pull policy.
    strongest: PullPolicy,
}

impl Checks {
    fn of(examination: &Examination<'_>, checks: &[usize]) -> Self {
        let (mut pulled, mut on_apps) = (Vec::new(), BTreeMap::new());
        for (index, check) in examination.with_role(checks, Role::Check) {
            match check.start.followers {
                Followers::From(from) => {
                    pulled.push(Pulled { from, first: index, strongest: check.policy.now });
                }
                Followers::Mounting { .. } => {
                    on_apps.insert(check.name.to_string(), index);
                }
                Followers::None => {}
            }
        }
        pulled.sort_by_key(|pulled| pulled.from);
        let mut before: Option<Pulled> = None;
        for entry in &mut pulled {
            if let Some(before) = before {
                entry.first = entry.first.min(before.first);
                entry.strongest = entry.strongest.max(before.strongest);
            }
            before = Some(*entry);
        }
        Self { pulled, on_apps }
    }

    /// All checks of init containers after which a place with this moment starts.
    fn pulled_at(&self, moment: Moment) -> Option<Pulled> {
        let count = self.pulled.partition_point(|pulled| pulled.from <= moment);
        self.pulled.get(count.checked_sub(1)?).copied()
    }

    /// The checks that only app containers mount, this one among them.
    fn mounted_by(&self, app: &Place<'_>) -> Vec<usize> {
        let is_app = app.list == List::Containers && !self.on_apps.is_empty();
        let volumes = app.mounted_volumes().filter(|_| is_app);
        volumes.filter_map(|volume| self.on_apps.get(volume).copied()).collect()
    }
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
