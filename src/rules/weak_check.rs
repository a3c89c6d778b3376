//! *weak-check*: the strongest of an image's checks has to be at least as strong as the guarded places that start after it.
//!
//! A check with `IfNotPresent` passes if the node has an old image. A container with `Always` then asks the registry. If the
//! registry fails, the container hangs in `ImagePullBackOff` (agent-stack-k8s#846).

use std::collections::BTreeMap;

use crate::examination::{
    Effect, Examination, Followers, Moment, Place, Reason, Role, Rule, Subject, Work,
};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::shown::shown;

/// Raises the checks that are too weak. `images` has the indexes of the places with each image.
pub(super) fn raise(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    let work = examination.work();
    for places in images {
        let checks = || {
            examination
                .with_role(places, Role::Check)
                .map(|(_, check)| check)
        };
        if checks().any(|check| check.gates(work)) {
            raise_gating(examination, places, work);
        } else if checks().next().is_some() {
            raise_earlier(examination, places);
        }
    }
}

/// Raises the first of the checks that gate the Pod, if all of them are weaker than a guarded place.
fn raise_gating(examination: &mut Examination<'_>, places: &[usize], work: Work) {
    let checks = || examination.with_role(places, Role::Check);
    let gating = || checks().filter(|(_, check)| check.gates(work));
    let strongest = gating().map(|(_, check)| check.policy.now).max();
    let first = gating().next().map(|(index, _)| index);
    // Of several maxima, `max_by_key` returns the last.
    let guarded = examination
        .with_role(places, Role::Guarded)
        .rev()
        .max_by_key(|(_, place)| place.policy.now);
    if let (Some(first), Some((guarded, place))) = (first, guarded)
        && strongest < Some(place.policy.now)
    {
        raise_to(examination, first, guarded);
    }
}

/// Compares each guarded place with the checks that it starts after, the strongest place first, equals in the order of the
/// Pod. None of the checks gates the Pod.
fn raise_earlier(examination: &mut Examination<'_>, places: &[usize]) {
    let checks = Checks::of(examination, places);
    let with_policy = |policy| {
        let guarded = examination.with_role(places, Role::Guarded);
        guarded
            .filter(move |(_, place)| place.policy.now == policy)
            .map(|(index, _)| index)
    };
    let guarded: Vec<usize> = PullPolicy::STRONGEST_FIRST
        .into_iter()
        .flat_map(with_policy)
        .collect();
    // The moment from which on everything starts after a raised check, which is strong enough for all later places of this
    // loop.
    let mut raised_from: Option<Moment> = None;
    for index in guarded {
        let Some(place) = examination.places.get(index) else {
            continue;
        };
        let starts_after = |from| place.start.moment >= Some(from);
        if raised_from.is_some_and(starts_after) {
            continue;
        }
        let pulled = checks.pulled_before(place);
        let mounted = || checks.mounted_by(place);
        let policies =
            mounted().filter_map(|check| Some(examination.places.get(check)?.policy.now));
        let strongest = policies.chain(pulled.map(|pulled| pulled.strongest)).max();
        // Init containers come before volumes among the places, so the smallest index is that of the first check.
        let first = mounted().chain(pulled.map(|pulled| pulled.first)).min();
        let Some(first) = first.filter(|_| strongest < Some(place.policy.now)) else {
            continue;
        };
        if let Some(Followers::From(from)) = examination
            .places
            .get(first)
            .map(|check| check.start.followers)
        {
            raised_from = raised_from.into_iter().chain([from]).min();
        }
        raise_to(examination, first, index);
    }
}

/// Raises a check to the pull policy of a guarded place.
fn raise_to(examination: &mut Examination<'_>, check: usize, guarded: usize) {
    let Some(guarded) = examination.places.get(guarded) else {
        return;
    };
    let weak = Weak {
        guarded: guarded.name.to_string(),
        needed: guarded.policy.now,
    };
    if let Some(check) = examination.places.get_mut(check) {
        check.policy.set(weak.needed, Rule::WeakCheck);
    }
    examination.findings.add(
        check,
        Rule::WeakCheck,
        Subject::PullPolicy,
        Effect::Repairable,
        weak,
    );
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
    fn of(examination: &Examination<'_>, places: &[usize]) -> Self {
        let (mut by_moment, mut on_apps) = (BTreeMap::new(), BTreeMap::new());
        for (index, check) in examination.with_role(places, Role::Check) {
            match check.start.followers {
                Followers::From(from) => {
                    by_moment.insert((from, index), check.policy.now);
                }
                Followers::Mounting { .. } => {
                    on_apps.insert(check.name.to_string(), index);
                }
                Followers::None => {}
            }
        }
        let mut pulled: Vec<Pulled> = Vec::new();
        for ((from, index), policy) in by_moment {
            let before = pulled.last().copied().unwrap_or(Pulled {
                from,
                first: index,
                strongest: policy,
            });
            let (first, strongest) = (before.first.min(index), before.strongest.max(policy));
            pulled.push(Pulled {
                from,
                first,
                strongest,
            });
        }
        Self { pulled, on_apps }
    }

    /// The checks of init containers after which a place starts.
    fn pulled_before(&self, place: &Place<'_>) -> Option<Pulled> {
        let starts_after = |pulled: &Pulled| Some(pulled.from) <= place.start.moment;
        let count = self.pulled.partition_point(starts_after);
        self.pulled.get(count.checked_sub(1)?).copied()
    }

    /// The checks that only app containers mount, this one among them.
    fn mounted_by(&self, place: &Place<'_>) -> impl Iterator<Item = usize> {
        let is_app = place.list == List::Containers;
        let volumes = place.mounted_volumes().filter(move |_| is_app);
        volumes.filter_map(|volume| self.on_apps.get(volume).copied())
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
    fn problem(&self, place: &Place<'_>) -> String {
        let (guarded, needed) = (shown(&self.guarded), self.needed.as_str());
        format!("{} but {guarded} pulls it with {needed}", place.pulls())
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.set_policy()
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        Some(format!(
            "{}, as {} needs",
            place.now_pulls(),
            shown(&self.guarded)
        ))
    }
}
