//! The role of each container and image volume: which of them are image checks, and which of them
//! are guarded.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{ExaminedPlace, Role};
use crate::image::ImageIdentity;
use crate::pod::{Place, Pod, PodSpecList};
use crate::settings::{AddedCheckKind, LookupMode, Settings};

/// Sets the roles of the places of a Pod.
pub(crate) fn set_roles<'p>(
    pod: &'p Pod<'p>,
    settings: &Settings,
    places: &mut [ExaminedPlace<'p>],
) {
    let volumes = if pod.has_image_volumes() {
        volume_mounters(pod, places)
    } else {
        BTreeMap::new()
    };
    for examined in places {
        let mounters = volumes.get(&*examined.place.name).copied();
        examined.role = role(examined.place, settings, mounters.unwrap_or_default());
    }
}

/// The role of a place. `mounters` are those of a volume.
fn role(place: &Place<'_>, settings: &Settings, mounters: VolumeMounters<'_>) -> Role {
    let checks = &settings.image_checks;
    let has_check_name = checks.names(&place.name);
    match place.list {
        PodSpecList::InitContainers if place.is_native_sidecar => Role::Unguarded,
        PodSpecList::InitContainers if has_check_name => Role::ImageCheck,
        PodSpecList::InitContainers => Role::InitContainer,
        PodSpecList::Containers => Role::Guarded,
        PodSpecList::EphemeralContainers => Role::Unguarded,
        PodSpecList::Volumes if has_check_name && mounters.are_held_up() => Role::ImageCheck,
        PodSpecList::Volumes
            if checks.made_of == AddedCheckKind::ImageVolume && mounters.are_app_containers() =>
        {
            Role::Guarded
        }
        PodSpecList::Volumes => Role::Unguarded,
    }
}

/// An image volume, and the containers that mount it.
#[derive(Clone, Copy, Default)]
struct VolumeMounters<'p> {
    image: Option<ImageIdentity<'p>>,
    /// Whether an init container that is no native sidecar mounts the volume.
    has_init_container: bool,
    has_native_sidecar: bool,
    has_app_container: bool,
    /// How many app containers pull the volume's image.
    pulling_its_image: usize,
    /// How many of these app containers mount the volume.
    pulling_and_mounting: usize,
}

impl VolumeMounters<'_> {
    /// Whether every app container of the volume's image has to wait until the volume is pulled.
    /// This is so if an init container that ends mounts the volume. It is also so if an app container
    /// mounts the volume, and every app container with its image mounts it too. In the second case the Pod may
    /// still have init containers, because a mesh may have added them after the volume.
    const fn are_held_up(&self) -> bool {
        self.has_init_container
            || (self.has_app_container && self.pulling_its_image == self.pulling_and_mounting)
    }

    /// Whether app containers alone mount the volume.
    const fn are_app_containers(&self) -> bool {
        self.has_app_container && !self.has_init_container && !self.has_native_sidecar
    }
}

/// The containers that mount each image volume of a Pod.
///
/// All images of a repository that is looked up count as one image here. Otherwise a registry's
/// answer could decide whether a volume is a check, and the copy doesn't get that answer.
fn volume_mounters<'p>(
    pod: &'p Pod<'p>,
    places: &[ExaminedPlace<'p>],
) -> BTreeMap<&'p str, VolumeMounters<'p>> {
    let mut looked_up: BTreeSet<ImageIdentity<'_>> = BTreeSet::new();
    for examined in places {
        if examined.lookup.mode != LookupMode::Off {
            looked_up.insert(examined.reference.repository_identity());
        }
    }
    // A place that is exempt or has an invalid image counts as if it pulled nothing.
    let mut images = BTreeMap::new();
    for examined in places {
        let repository = examined.reference.repository_identity();
        let image = if looked_up.contains(&repository) {
            repository
        } else {
            examined.reference.identity()
        };
        images.insert((examined.place.list, examined.place.index), image);
    }
    let identity = |place: &Place<'_>| images.get(&(place.list, place.index)).copied();
    let mut app_containers: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
    for place in pod.list(PodSpecList::Containers) {
        if let Some(image) = identity(place) {
            let count = app_containers.entry(image).or_default();
            *count = count.saturating_add(1);
        }
    }
    let mut volumes: BTreeMap<&str, VolumeMounters<'_>> = BTreeMap::new();
    for place in pod.list(PodSpecList::Volumes) {
        let image = identity(place);
        let pulling_its_image = image.and_then(|image| app_containers.get(&image).copied());
        let mounters = VolumeMounters {
            image,
            pulling_its_image: pulling_its_image.unwrap_or_default(),
            ..VolumeMounters::default()
        };
        volumes.insert(&place.name, mounters);
    }
    for place in &pod.places {
        let image = identity(place);
        let names: BTreeSet<_> = place.mounts().into_iter().map(|mount| mount.name).collect();
        for name in names {
            let Some(mounters) = volumes.get_mut(&*name) else {
                continue;
            };
            match place.list {
                PodSpecList::InitContainers if place.is_native_sidecar => {
                    mounters.has_native_sidecar = true;
                }
                PodSpecList::InitContainers => mounters.has_init_container = true,
                PodSpecList::Containers => {
                    mounters.has_app_container = true;
                    if image.is_some() && image == mounters.image {
                        mounters.pulling_and_mounting =
                            mounters.pulling_and_mounting.saturating_add(1);
                    }
                }
                PodSpecList::EphemeralContainers | PodSpecList::Volumes => {}
            }
        }
    }
    volumes
}
