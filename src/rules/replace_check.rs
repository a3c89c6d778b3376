//! *replace-check*: in a Pod that has a controller, turns image checks that are init containers
//! into image volumes.
//!
//! An init container adds about a second to each start. An image volume that another init container
//! mounts adds nearly no time. The replacement only saves time. The init container was no mistake, so
//! it is not a finding, and no mode reports it. This rule is the last one: on a second run, all other
//! rules then see the same checks with the same pull policies, now as volumes.

use std::collections::{BTreeMap, BTreeSet};

use crate::examination::check_volume_mounts::{CheckVolumeCarriers, mount_path};
use crate::examination::examined_container_or_volume::{ExaminedContainerOrVolume, Role};
use crate::examination::{Examination, ReplacedChecks};
use crate::pod::{ContainerOrVolume, PodSpecList};
use crate::request::RequestType;

/// The largest length of a volume's name, which is a DNS label. Source: `ValidateVolumes` in
/// `pkg/apis/core/validation/validation.go`.
const VOLUME_NAME_MAX: usize = 63;

/// Chooses the checks to replace. Only Pods that have a controller are changed, because nobody
/// applies the manifest of such a Pod again. A manifest that is applied again would bring the init
/// containers back. The list of init containers is immutable, so the API server would refuse the change.
pub fn replace_init_containers(examination: &mut Examination<'_>) {
    let review = examination.review;
    if !examination.settings.image_checks.replace_existing
        || review.request_type != RequestType::PodCreate
        || !review.has_controller()
        || review.pod.is_windows
    {
        return;
    }
    let mut volumes: BTreeSet<&str> = BTreeSet::new();
    volumes.extend(review.pod.volume_names.iter().map(|name| &**name));
    volumes.extend(examination.added_checks.iter().map(|check| &*check.name));
    let mut check_volumes: BTreeSet<&str> = BTreeSet::new();
    let mut other_volumes: BTreeSet<&str> = BTreeSet::new();
    for examined in &examination.places {
        match (examined.place.list, examined.role) {
            (PodSpecList::Volumes, Role::ImageCheck) => &mut check_volumes,
            (PodSpecList::Volumes, _) => &mut other_volumes,
            _ => continue,
        }
        .insert(&*examined.place.name.value);
    }
    let mut replaced: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, examined) in examination.places.iter().enumerate() {
        let place = examined.place;
        let name = &*place.name.value;
        let is_check =
            examined.role == Role::ImageCheck && place.list == PodSpecList::InitContainers;
        // A check stays if it mounts an image volume that is not a check. Without this check, perhaps
        // only app containers would mount that volume, and the volume's image would need a check.
        let mounts_another = || {
            let mut mounts = place.mounts.iter();
            mounts.any(|mount| other_volumes.contains(&*mount.name))
        };
        if is_check
            && !is_named_elsewhere(examination, name)
            && name.len() <= VOLUME_NAME_MAX
            && !mounts_another()
            && volumes.insert(name)
        {
            replaced.insert(place.index, index);
        }
    }
    // Some checks have to stay, for example a check whose volume can't be mounted on the carrier. A check
    // that stays may become the carrier, and then other checks have to stay. So the loop runs until no
    // more check has to stay.
    while !replaced.is_empty() {
        let is_replaced = |place: &ContainerOrVolume<'_>| replaced.contains_key(&place.index);
        let mut init_containers = review.pod.list(PodSpecList::InitContainers);
        let staying = init_containers.clone().filter(|place| !is_replaced(place));
        let carriers = CheckVolumeCarriers::among(staying, examination.settings);
        let CheckVolumeCarriers::InitContainer(carrier) = carriers else {
            if let Some(first) = init_containers.next() {
                replaced.remove(&first.index);
            }
            continue;
        };
        let mut in_use: BTreeSet<&str> = BTreeSet::new();
        in_use.extend(carrier.mounts.iter().map(|mount| &*mount.path));
        in_use.extend(carrier.device_paths.iter().map(|path| &**path));
        let collide: Vec<usize> = init_containers
            .filter(|place| is_replaced(place))
            .filter(|place| {
                let mut moved = volumes_to_move(place, carrier, &check_volumes);
                in_use.contains(&*mount_path(&place.name.value))
                    || moved.any(|volume| in_use.contains(&*mount_path(volume)))
            })
            .map(|place| place.index)
            .collect();
        let mut keep = collide;
        if keep.is_empty() {
            keep = beside_a_check_that_stays(examination, &replaced);
        }
        if keep.is_empty() {
            keep.extend(last_with_resources(examination, &replaced));
        }
        if keep.is_empty() {
            break;
        }
        for place in keep {
            replaced.remove(&place);
        }
    }
    let mut moved_volumes = BTreeSet::new();
    let staying = review.pod.list(PodSpecList::InitContainers);
    let staying = staying.filter(|place| !replaced.contains_key(&place.index));
    if let CheckVolumeCarriers::InitContainer(carrier) =
        CheckVolumeCarriers::among(staying, examination.settings)
    {
        let indexes = replaced.values();
        for examined in indexes.filter_map(|index| examination.places.get(*index)) {
            moved_volumes.extend(volumes_to_move(examined.place, carrier, &check_volumes));
        }
    }
    examination.replaced_checks = ReplacedChecks {
        places: replaced.into_values().collect(),
        moved_volumes: moved_volumes.into_iter().collect(),
    };
}

/// The replaced checks of each image that also has a check that stays. If one check of an image has
/// to stay, all checks of that image stay. Otherwise the order of these checks would change. On a second
/// run *weak-check*, which raises the first check of an image, could then raise another check.
fn beside_a_check_that_stays(
    examination: &Examination<'_>,
    replaced: &BTreeMap<usize, usize>,
) -> Vec<usize> {
    let images = examination.image_groups();
    let mut stays = vec![false; images.image_count()];
    let is_replaced = |examined: &ExaminedContainerOrVolume<'_>| {
        examined.place.list == PodSpecList::InitContainers
            && replaced.contains_key(&examined.place.index)
    };
    let checks = || {
        let places = examination.places.iter().zip(images.images());
        places.filter(|(examined, _)| examined.role == Role::ImageCheck)
    };
    for (examined, image) in checks() {
        if let Some(stays) = stays.get_mut(image) {
            *stays |= !is_replaced(examined);
        }
    }
    let stays = |image: usize| stays.get(image).copied().unwrap_or_default();
    let together = checks().filter(|(examined, image)| is_replaced(examined) && stays(*image));
    together.map(|(examined, _)| examined.place.index).collect()
}

/// Whether an annotation gives a check an `AppArmor` profile, or a `resourceFieldRef` names the check. If
/// there were no container with this name any more, the API server or the kubelet would refuse the Pod.
fn is_named_elsewhere(examination: &Examination<'_>, check: &str) -> bool {
    let review = examination.review;
    let mut names = review
        .metadata
        .app_armor_containers
        .iter()
        .chain(&review.named_containers);
    names.any(|name| name == check)
}

/// The index of the first replaced check that asks for cpu or memory, if neither the Pod itself nor a
/// container that stays asks for them. Without this check, the Pod's quality of service
/// would become `BestEffort`.
fn last_with_resources(
    examination: &Examination<'_>,
    replaced: &BTreeMap<usize, usize>,
) -> Option<usize> {
    let pod = &examination.review.pod;
    let is_replaced = |place: &ContainerOrVolume<'_>| {
        place.list == PodSpecList::InitContainers && replaced.contains_key(&place.index)
    };
    let counts = |place: &&ContainerOrVolume<'_>| {
        place.list != PodSpecList::EphemeralContainers && place.resources.has_cpu_or_memory
    };
    if pod.resources.has_cpu_or_memory {
        return None;
    }
    let mut asking = pod.places.iter().filter(counts).peekable();
    let first = asking.peek().map(|place| place.index);
    first.filter(|_| asking.all(is_replaced))
}

/// The check volumes that an init container mounts and the new carrier does not mount.
fn volumes_to_move<'p>(
    place: &'p ContainerOrVolume<'p>,
    carrier: &'p ContainerOrVolume<'p>,
    check_volumes: &BTreeSet<&str>,
) -> impl Iterator<Item = &'p str> {
    place
        .mounts
        .iter()
        .map(|mount| &*mount.name)
        .filter(|volume| check_volumes.contains(volume) && !carrier.has_mounted(volume))
}
