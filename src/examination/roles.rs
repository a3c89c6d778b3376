//! The role of each container and image volume: which of them are image checks, and which of them
//! are guarded.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{ExaminedPlace, Role};
use crate::image::ImageIdentity;
use crate::pod::{Place, Pod, PodSpecList};
use crate::settings::{AddedCheckKind, LookupMode, Settings};

/// The roles in one Pod.
pub(crate) struct PodRoles<'p> {
    settings: &'p Settings,
    volumes: BTreeMap<&'p str, VolumeMounters<'p>>,
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

impl<'p> PodRoles<'p> {
    /// The roles in a Pod with these examined places.
    pub(crate) fn of(
        pod: &'p Pod<'p>,
        settings: &'p Settings,
        places: &[ExaminedPlace<'p>],
    ) -> Self {
        let volumes = if pod.has_image_volumes() {
            volume_mounters(pod, places)
        } else {
            BTreeMap::new()
        };
        Self { settings, volumes }
    }

    /// The role of a place.
    pub(crate) fn role(&self, place: &Place<'_>) -> Role {
        let checks = &self.settings.image_checks;
        let name = &*place.name;
        match place.list {
            PodSpecList::InitContainers if place.is_native_sidecar => Role::Unguarded,
            PodSpecList::InitContainers if checks.names(name) => Role::ImageCheck,
            PodSpecList::InitContainers => Role::InitContainer,
            PodSpecList::Containers => Role::Guarded,
            PodSpecList::EphemeralContainers => Role::Unguarded,
            PodSpecList::Volumes => {
                let mounters = self.volumes.get(name).copied().unwrap_or_default();
                if checks.names(name) && mounters.are_held_up() {
                    Role::ImageCheck
                } else if checks.made_of == AddedCheckKind::ImageVolume
                    && mounters.has_app_container
                    && !mounters.has_init_container
                    && !mounters.has_native_sidecar
                {
                    Role::Guarded
                } else {
                    Role::Unguarded
                }
            }
        }
    }
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
    let identity = |place: &Place<'_>| -> Option<ImageIdentity<'p>> {
        let key = |place: &Place<'_>| (place.list, place.index);
        let examined = places.binary_search_by_key(&key(place), |one| key(one.place));
        let reference = &places.get(examined.ok()?)?.reference;
        let repository = reference.repository_identity();
        Some(if looked_up.contains(&repository) {
            repository
        } else {
            reference.identity()
        })
    };
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
