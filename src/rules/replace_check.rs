//! *replace-check*: image checks that a controller made become image volumes.
//!
//! An init container costs about a second of each start, whatever it does; an image volume on one
//! that is there anyway costs next to nothing. It is a saving and not a finding, so no mode
//! reports it, and it comes last: the other rules see the same checks before and after.

use std::collections::{BTreeMap, BTreeSet};

use super::missing_check::{Carriers, MOUNTED_IN};
use super::same_image::SameImage;
use super::{Entry, Role, Work};
use crate::pod::{Place, Slot};
use crate::request::Event;

/// The longest name of a volume, a DNS label.
const NAME_MAX: usize = 63;

/// Finds the checks to replace: the numbers of their entries. Only Pods of a controller, which
/// nobody applies again: that would bring the init containers back, and they are immutable.
pub fn apply(work: &mut Work<'_>) {
    let review = work.review;
    if !work.settings.image_checks.replace_existing
        || review.event != Event::PodCreate
        || !review.is_controlled()
        || review.pod.is_windows()
    {
        return;
    }
    let mut volumes: BTreeSet<&str> = BTreeSet::new();
    volumes.extend(review.pod.volume_names.iter().map(|name| &**name));
    volumes.extend(work.added.iter().map(|check| &*check.name));
    let mut checked_by_volumes: BTreeSet<&str> = BTreeSet::new();
    let mut other_volumes: BTreeSet<&str> = BTreeSet::new();
    for entry in &work.entries {
        match (entry.place.slot, entry.role) {
            (Slot::ImageVolume, Role::Check) => &mut checked_by_volumes,
            (Slot::ImageVolume, _) => &mut other_volumes,
            _ => continue,
        }
        .insert(&*entry.place.name.value);
    }
    let mut replaced: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, entry) in work.entries.iter().enumerate() {
        let place = entry.place;
        let name = &*place.name.value;
        let is_check = entry.role == Role::Check && place.slot == Slot::InitContainer;
        // Without the last init container that mounts it, an image volume would be one to guard.
        let mounts_another = || {
            let mut mounts = place.mounts.iter();
            mounts.any(|mount| other_volumes.contains(&*mount.name))
        };
        if is_check && name.len() <= NAME_MAX && !mounts_another() && volumes.insert(name) {
            replaced.insert(place.index, index);
        }
    }
    // What can't be mounted on the carrier stays, and may be the carrier itself then.
    while !replaced.is_empty() {
        let is_replaced = |place: &Place<'_>| replaced.contains_key(&place.index);
        let mut init_containers = review.pod.list(Slot::InitContainer);
        let staying = init_containers.clone().filter(|place| !is_replaced(place));
        let Carriers::InitContainer(carrier) = Carriers::among(staying, work.settings) else {
            if let Some(first) = init_containers.next() {
                replaced.remove(&first.index);
            }
            continue;
        };
        let mut in_use: BTreeSet<&str> = BTreeSet::new();
        in_use.extend(carrier.mounts.iter().map(|mount| &*mount.path));
        let collide: Vec<usize> = init_containers
            .filter(|place| is_replaced(place))
            .filter(|place| {
                let mut moved = volumes_to_move(place, carrier, &checked_by_volumes);
                in_use.contains(&*mount_path(&place.name.value))
                    || moved.any(|volume| in_use.contains(&*mount_path(volume)))
            })
            .map(|place| place.index)
            .collect();
        let keep = if collide.is_empty() {
            with_one_that_stays(work, &replaced)
        } else {
            collide
        };
        if keep.is_empty() {
            break;
        }
        for place in keep {
            replaced.remove(&place);
        }
    }
    // In the order of the entries, which is that of the init containers.
    let entries: Vec<usize> = replaced.into_values().collect();
    let mut moved = BTreeSet::new();
    if let Carriers::InitContainer(carrier) = carriers(work, &entries) {
        for entry in entries.iter().filter_map(|index| work.entries.get(*index)) {
            moved.extend(volumes_to_move(entry.place, carrier, &checked_by_volumes));
        }
    }
    work.moved_mounts = moved.into_iter().collect();
    work.replaced = entries;
}

/// The checks of an image of which one stays: they would come behind it, and another of them would
/// be the first, which is the one that is raised.
fn with_one_that_stays(work: &Work<'_>, replaced: &BTreeMap<usize, usize>) -> Vec<usize> {
    let images = SameImage::of(&work.entries);
    let mut stays = vec![false; images.count()];
    let is_replaced = |entry: &Entry<'_>| {
        entry.place.slot == Slot::InitContainer && replaced.contains_key(&entry.place.index)
    };
    let checks = || {
        let entries = work.entries.iter().zip(images.ids());
        entries.filter(|(entry, _)| entry.role == Role::Check)
    };
    for (entry, image) in checks() {
        if let Some(stays) = stays.get_mut(image) {
            *stays |= !is_replaced(entry);
        }
    }
    let stays = |image: usize| stays.get(image).copied().unwrap_or_default();
    let together = checks().filter(|(entry, image)| is_replaced(entry) && stays(*image));
    together.map(|(entry, _)| entry.place.index).collect()
}

/// Where the volume of a check is mounted.
#[must_use]
pub fn mount_path(volume: &str) -> String {
    format!("{MOUNTED_IN}{volume}")
}

/// Who mounts volumes in the Pod that goes out, in which some checks are replaced.
#[must_use]
pub fn carriers<'p>(work: &Work<'p>, replaced: &[usize]) -> Carriers<'p> {
    let gone = replaced.iter().filter_map(|index| work.entries.get(*index));
    let gone: Vec<usize> = gone.map(|entry| entry.place.index).collect();
    let staying = work
        .review
        .pod
        .list(Slot::InitContainer)
        .filter(|place| gone.binary_search(&place.index).is_err());
    Carriers::among(staying, work.settings)
}

/// The volumes of other checks that an init container carries and the new carrier doesn't.
fn volumes_to_move<'p>(
    place: &'p Place<'p>,
    carrier: &'p Place<'p>,
    checks: &BTreeSet<&str>,
) -> impl Iterator<Item = &'p str> {
    place
        .mounts
        .iter()
        .map(|mount| &*mount.name)
        .filter(|volume| checks.contains(volume) && !carrier.has_mounted(volume))
}
