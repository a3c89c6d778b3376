//! The role of each container and image volume: which of them are image checks, and which of them
//! are guarded.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{ExaminedPlace, Role};
use crate::image::ImageIdentity;
use crate::pod::{Mounters, Place, Pod, PodSpecList};
use crate::settings::{InitContainerOrImageVolume, LookupMode, Settings};

/// Sets the roles of the places of a Pod.
pub(crate) fn set_roles<'p>(
    pod: &'p Pod<'p>,
    settings: &Settings,
    places: &mut [ExaminedPlace<'p>],
) {
    let checks = &settings.image_checks;
    let has_image_volumes = pod.has_image_volumes();
    let mounted = has_image_volumes.then(|| MountedVolumes::of(pod, places));
    for examined in places {
        let place = examined.place;
        let has_check_name = checks.names(&place.name);
        examined.role = match (place.list, &mounted) {
            (PodSpecList::InitContainers, _) if place.is_native_sidecar => Role::Unguarded,
            (PodSpecList::InitContainers, _) if has_check_name => Role::ImageCheck,
            (PodSpecList::InitContainers, _) => Role::InitContainer,
            (PodSpecList::Containers, _) => Role::Guarded,
            (PodSpecList::Volumes, Some(mounted))
                if has_check_name && mounted.holds_up_app_containers(place) =>
            {
                Role::ImageCheck
            }
            (PodSpecList::Volumes, Some(mounted))
                if checks.made_of == InitContainerOrImageVolume::ImageVolume
                    && mounted.has_only_app_containers(place) =>
            {
                Role::Guarded
            }
            (PodSpecList::EphemeralContainers | PodSpecList::Volumes, _) => Role::Unguarded,
        };
    }
}

/// The volumes of a Pod that containers mount, and the images of its places.
///
/// All images of a repository that is looked up count as one image here. Otherwise a registry's
/// answer could decide whether a volume is a check, and the copy doesn't get that answer.
struct MountedVolumes<'p> {
    mounters: Mounters<'p>,
    /// The images by list and index. A place that is exempt or has an invalid image is not among them.
    images: BTreeMap<(PodSpecList, usize), ImageIdentity<'p>>,
    /// How many app containers pull each image.
    app_containers: BTreeMap<ImageIdentity<'p>, usize>,
}

impl<'p> MountedVolumes<'p> {
    fn of(pod: &'p Pod<'p>, places: &[ExaminedPlace<'p>]) -> Self {
        let looked_up: BTreeSet<ImageIdentity<'p>> = places
            .iter()
            .filter(|examined| examined.lookup.mode != LookupMode::Off)
            .map(|examined| examined.reference.repository_identity())
            .collect();
        let mut images = BTreeMap::new();
        let mut app_containers: BTreeMap<ImageIdentity<'p>, usize> = BTreeMap::new();
        for examined in places {
            let repository = examined.reference.repository_identity();
            let image = if looked_up.contains(&repository) {
                repository
            } else {
                examined.reference.identity()
            };
            images.insert((examined.place.list, examined.place.index), image);
            if examined.place.list == PodSpecList::Containers {
                let count = app_containers.entry(image).or_default();
                *count = count.saturating_add(1);
            }
        }
        Self {
            mounters: pod.mounters(),
            images,
            app_containers,
        }
    }

    fn mounters(&self, volume: &Place<'_>) -> impl Iterator<Item = &'p Place<'p>> {
        let mounters = self.mounters.get(&*volume.name);
        mounters.into_iter().flatten().copied()
    }

    fn image(&self, place: &Place<'_>) -> Option<&ImageIdentity<'p>> {
        self.images.get(&(place.list, place.index))
    }

    /// Whether every app container of the volume's image has to wait until the volume is pulled.
    /// This is so if an init container that ends mounts the volume. It is also so if an app container
    /// mounts the volume, and every app container with its image mounts it too. In the second case the
    /// Pod may still have init containers, because a mesh may have added them after the volume.
    fn holds_up_app_containers(&self, volume: &Place<'_>) -> bool {
        let image = self.image(volume);
        let all = image.and_then(|image| self.app_containers.get(image));
        let mounters = self.mounters(volume);
        let mut app_containers = mounters.filter(|place| is_app_container(place)).peekable();
        let has_app_container = app_containers.peek().is_some();
        let waiting = app_containers.filter(|place| self.image(place) == image);
        self.mounters(volume).any(ends_before_app_containers)
            || (has_app_container && waiting.count() == all.copied().unwrap_or_default())
    }

    /// Whether app containers mount the volume, and no init container does.
    fn has_only_app_containers(&self, volume: &Place<'_>) -> bool {
        let (mut mounters, mut all) = (self.mounters(volume), self.mounters(volume));
        mounters.any(is_app_container) && all.all(|one| one.list != PodSpecList::InitContainers)
    }
}

fn is_app_container(place: &Place<'_>) -> bool {
    place.list == PodSpecList::Containers
}

fn ends_before_app_containers(place: &Place<'_>) -> bool {
    place.list == PodSpecList::InitContainers && !place.is_native_sidecar
}
