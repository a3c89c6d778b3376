//! Check volumes: the containers that carry them, and the paths at which they are mounted.

use crate::image::Reference;
use crate::pod::{Place, Pod, PodSpecList};
use crate::settings::Settings;

/// The folder in which this policy mounts check volumes.
pub(crate) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The path at which this policy mounts a check volume.
pub(crate) fn mount_path(volume: &str) -> String {
    format!("{MOUNT_FOLDER}{volume}")
}

/// The containers that mount the check volumes that this policy adds. The first init container that is
/// neither a native sidecar nor exempt mounts them, so that no app container starts before the volumes
/// are pulled. If there is no such init container, all app containers mount them. A native sidecar restarts
/// for the Pod's whole life, and each restart would need the images of the volumes.
pub(crate) fn check_volume_carriers<'p>(
    pod: &'p Pod<'p>,
    settings: &Settings,
) -> Vec<&'p Place<'p>> {
    let can_carry = |place: &&Place<'_>| {
        let reference = || Reference::parse(place.image_text()).ok();
        !place.is_native_sidecar && !settings.exempt.covers(&place.name, reference)
    };
    match pod.list(PodSpecList::InitContainers).find(can_carry) {
        Some(place) => vec![place],
        None => pod.list(PodSpecList::Containers).collect(),
    }
}
