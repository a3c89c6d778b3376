//! What starts after what in a Pod, as a kubelet does it: the moments of its pulls, which the rules
//! compare.
//!
//! Init containers start one after another, native sidecars too. Then all app containers start. A
//! container pulls its own image and its image volumes when it starts. So a container's moment is
//! its position, and a volume's moment is that of the first container that mounts it.
//!
//! After an init container starts what has a later moment. Its own volumes don't: it may pull them
//! before its image. After a volume starts what has its moment or a later one. Where the volume's
//! moment is that of the app containers, these are only the containers that mount it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::slice;

use super::pull::{Moment, Pull};
use super::spec::List;
use crate::image::PullPolicy;

/// When a pull is made. `mounting` is the first container that mounts it, if it is a volume. None
/// for an ephemeral container, and for a volume that no container mounts.
pub fn moment(pull: &Pull, mounting: Option<&Pull>) -> Option<Moment> {
    match pull.list {
        List::InitContainers => Some(Moment(pull.index.saturating_add(1))),
        List::Containers => Some(Moment::APPS),
        List::EphemeralContainers => None,
        List::Volumes => mounting?.moment,
    }
}

/// A pull policy, and the position of the pull that has it. The greatest is the strongest, and
/// among equals the first of the Pod.
pub type Strongest = (PullPolicy, Reverse<usize>);

fn strength(pull: &Pull) -> Strongest {
    (pull.policy, Reverse(pull.position))
}

/// The strongest of `others` that starts after each check, by the check's position. The lists can be
/// very long, so no two pulls are compared with each other.
pub fn strongest_after(checks: &[&Pull], others: &[&Pull]) -> BTreeMap<usize, Strongest> {
    let mut found = strongest_on_apps(checks, others);
    // Sorted by moment, each becomes the strongest of itself and all later ones.
    let others = others.iter();
    let moments = others.filter_map(|pull| Some((pull.moment?, strength(pull))));
    let mut from: Vec<(Moment, Strongest)> = moments.collect();
    from.sort_unstable();
    let mut later = (PullPolicy::Never, Reverse(usize::MAX));
    for (_, strongest) in from.iter_mut().rev() {
        later = later.max(*strongest);
        *strongest = later;
    }
    for check in checks {
        let Some(moment) = check.moment.filter(|moment| *moment < Moment::APPS) else {
            continue;
        };
        let is_volume = check.list == List::Volumes;
        let is_before = |at: Moment| at < moment || (at == moment && !is_volume);
        let first = from.partition_point(|(at, _)| is_before(*at));
        let strongest = from.get(first);
        found.extend(strongest.map(|(_, strongest)| (check.position, *strongest)));
    }
    found
}

/// The same for the checks that are volumes which only app containers mount. After such a volume
/// start the app containers that mount it, and the volumes that only such containers mount.
fn strongest_on_apps(checks: &[&Pull], others: &[&Pull]) -> BTreeMap<usize, Strongest> {
    let is_with_apps = |pull: &&&Pull| pull.moment == Some(Moment::APPS);
    let mut checks_on: BTreeMap<usize, Vec<&Pull>> = BTreeMap::new();
    for check in checks.iter().filter(is_with_apps) {
        for app in &check.mounted_by {
            checks_on.entry(*app).or_default().push(check);
        }
    }
    let mut found = BTreeMap::new();
    if checks_on.is_empty() {
        return found;
    }
    // Many volumes can be on the same app containers. An app container is on itself.
    let mut others_on: BTreeMap<&[usize], Strongest> = BTreeMap::new();
    for pull in others.iter().filter(is_with_apps) {
        let apps: &[usize] = match pull.list {
            List::Volumes => &pull.mounted_by,
            _ => slice::from_ref(&pull.position),
        };
        raise(&mut others_on, apps, strength(pull));
    }
    for (apps, strongest) in others_on {
        // A check on all of these apps is also on the one that has the fewest checks.
        let on_apps = apps.iter().filter_map(|app| checks_on.get(app));
        let fewest = on_apps.min_by_key(|checks| checks.len());
        for check in fewest.into_iter().flatten() {
            let is_on = |app| check.mounted_by.binary_search(app).is_ok();
            if apps.iter().all(is_on) {
                raise(&mut found, check.position, strongest);
            }
        }
    }
    found
}

/// Replaces the pull of a key, if the new one is stronger.
fn raise<K: Ord>(strongest: &mut BTreeMap<K, Strongest>, key: K, pull: Strongest) {
    let entry = strongest.entry(key).or_insert(pull);
    *entry = pull.max(*entry);
}
