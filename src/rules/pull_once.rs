//! *pull-once*: what an init container has just pulled with `Always` need not be pulled again.
//!
//! The pull proved the Pod's credentials, and a registry that fails a second later can't hang the
//! job any more. It is a saving and not a finding, so no mode reports it.

use std::collections::{BTreeMap, BTreeSet};

use super::missing_check::{Carriers, MadeOf};
use super::same_image::SameImage;
use super::{Cause, Role, Rule, Told, Work};
use crate::pod::{Mount, Slot};
use crate::pull_policy::PullPolicy;
use crate::sentence::Names;

/// What pulls an image with `Always` before the containers start.
#[derive(Clone, Copy, Default)]
struct Pulled {
    /// An init container, or a volume that no container mounts.
    for_all: bool,
    /// How many volumes. Who mounts one of them itself pulls it again.
    volumes: usize,
}

/// Takes `Always` from the containers of each spelling that is pulled with `Always` before.
pub fn apply(work: &mut Work<'_>, images: &SameImage) {
    if !work.settings.pull_once {
        return;
    }
    let mut pulled: BTreeMap<usize, Pulled> = BTreeMap::new();
    let mut volumes: BTreeMap<&str, usize> = BTreeMap::new();
    for (entry, spelling) in work.entries.iter().zip(images.spellings()) {
        let proves = matches!(entry.role, Role::Check | Role::Init);
        if !proves || entry.policy != PullPolicy::Always {
            continue;
        }
        let pulled = pulled.entry(spelling).or_default();
        if entry.place.slot == Slot::ImageVolume {
            pulled.volumes = pulled.volumes.saturating_add(1);
            volumes.insert(&entry.place.name.value, spelling);
        } else {
            pulled.for_all = true;
        }
    }
    // Checks that were just added count like those that were there.
    let carried_by_containers =
        !work.added.is_empty() && matches!(Carriers::in_pod_of(work), Carriers::Containers);
    for check in &work.added {
        let mounted_by_containers = check.made_of == MadeOf::Volume && carried_by_containers;
        if let Some(spelling) = images.spelling(check.guarded)
            && check.policy == PullPolicy::Always
            && !mounted_by_containers
        {
            pulled.entry(spelling).or_default().for_all = true;
        }
    }
    if pulled.is_empty() {
        return;
    }
    for (entry, spelling) in work.entries.iter_mut().zip(images.spellings()) {
        if entry.place.slot == Slot::Container
            && entry.policy == PullPolicy::Always
            && entry.require_always.is_none()
            && let Some(pulled) = pulled.get(&spelling)
            && (pulled.for_all
                || own_pulls(&entry.place.mounts, &volumes, spelling) < pulled.volumes)
        {
            // A forbidden `Never` that became a default of `Always` before: that it was forbidden is
            // still a finding, and still the reason.
            if entry.policy_before() == PullPolicy::Never {
                entry.policy = PullPolicy::IfNotPresent;
            } else {
                entry.set_policy(PullPolicy::IfNotPresent, PullOnce);
            }
        }
    }
}

/// How many of the volumes with an image a container mounts itself.
fn own_pulls(mounts: &[Mount<'_>], volumes: &BTreeMap<&str, usize>, spelling: usize) -> usize {
    let of_the_image = |name: &&str| volumes.get(name) == Some(&spelling);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    names.extend(mounts.iter().map(|mount| &*mount.name).filter(of_the_image));
    names.len()
}

#[derive(Clone, Copy, Debug)]
struct PullOnce;

impl Cause for PullOnce {
    fn rule(&self) -> Rule {
        Rule::PullOnce
    }

    fn is_finding(&self) -> bool {
        false
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        told.now_pulls(names)
    }
}
