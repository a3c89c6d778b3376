//! What each place does in its Pod, and when it is pulled. Here, and only here, it is decided
//! whether a place is an image check.

use std::collections::BTreeMap;

use super::place::{Place, Role};
use super::start_order::Start;
use crate::pod::List;
use crate::settings::Settings;

/// Decides the roles of all places, and when they are pulled. The volumes are the last places.
pub(super) fn assign(places: &mut [Place<'_>], settings: &Settings) {
    let first_volume = places.partition_point(|place| place.list != List::Volumes);
    let Some((containers, volumes)) = places.split_at_mut_checked(first_volume) else {
        return;
    };
    for container in &mut *containers {
        container.start = match container.list {
            List::InitContainers => Start::Init(container.index),
            List::Containers => Start::App,
            List::EphemeralContainers | List::Volumes => Start::None,
        };
        container.role = role(container, settings, container.ends());
    }
    if volumes.is_empty() {
        return;
    }
    let apps = containers.iter().filter(|place| place.is_app()).count();
    let mut mounting = mounting(containers);
    for volume in volumes {
        let mounted_by = mounting.remove(&*volume.name).unwrap_or_default();
        let container = |index: &usize| containers.get(*index);
        let mounters: Vec<&Place<'_>> = mounted_by.iter().filter_map(container).collect();
        volume.start = match mounters.first() {
            None => Start::None,
            Some(first) if first.list == List::InitContainers => Start::VolumeOfInit(first.index),
            Some(_) => Start::VolumeOfApps {
                is_on_every_app: mounters.iter().filter(|place| place.is_app()).count() == apps,
            },
        };
        let can_be_check = mounters.iter().any(|place| place.ends() || place.is_app());
        volume.role = role(volume, settings, can_be_check);
        volume.mounted_by = mounted_by;
    }
}

fn role(place: &Place<'_>, settings: &Settings, can_be_check: bool) -> Role {
    let is_valid = match &place.reference {
        Err(_) => false,
        Ok(image) => !(image.is_image_id() && settings.images.refuse_image_ids()),
    };
    if place.is_exempt(settings) {
        Role::Exempt
    } else if !is_valid {
        Role::Invalid
    } else if can_be_check && settings.image_checks.has_prefix(&place.name) {
        Role::Check
    } else {
        Role::Other
    }
}

/// The indexes of the init containers and app containers that mount each volume, in their order.
fn mounting<'o>(containers: &[Place<'o>]) -> BTreeMap<&'o str, Vec<usize>> {
    let mut mounting: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, container) in containers.iter().enumerate() {
        if container.start == Start::None {
            continue;
        }
        for volume in &container.volumes {
            let containers = mounting.entry(volume).or_default();
            // A container may mount a volume several times.
            if containers.last() != Some(&index) {
                containers.push(index);
            }
        }
    }
    mounting
}
