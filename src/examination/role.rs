//! The roles of the containers and image volumes of a Pod. Here, and only here, it is decided whether a place is an
//! image check.

use std::collections::{BTreeMap, BTreeSet};

use crate::image::{ImageIdentity, Reference};
use crate::pod_spec::{MountersByVolume, Place, PodSpec, PodSpecList};
use crate::settings::{InitContainerOrImageVolume, Settings};

/// The role of a container or image volume in its Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An image check.
    ImageCheck,
    /// Any other init container that ends before the app containers start.
    InitContainer,
    /// An app container. With `imageChecks.as: ImageVolume`, also an image volume that is no
    /// check, if an app container mounts it and no init container does.
    Guarded,
    /// A native sidecar, an ephemeral container or any other image volume. No check guards these.
    Unguarded,
}

/// The roles of the places of one Pod.
pub(crate) struct PodRoles<'p> {
    settings: &'p Settings,
    /// None if no role of an image volume is asked for.
    volumes: Option<MountedVolumes<'p>>,
}

impl<'p> PodRoles<'p> {
    /// The roles of a Pod's places. Those of image volumes are only known if `with_volumes` is true.
    pub(crate) fn of(pod: &'p PodSpec<'p>, with_volumes: bool, settings: &'p Settings) -> Self {
        let volumes = with_volumes.then(|| MountedVolumes::of(pod, settings));
        Self { settings, volumes }
    }

    /// The role of a place that is not exempt and has a valid image.
    pub(crate) fn role(&self, place: &Place<'_>) -> Role {
        let checks = &self.settings.image_checks;
        let has_check_name = checks.is_check_name(&place.name);
        match (place.list, &self.volumes) {
            (PodSpecList::InitContainers, _) if place.is_native_sidecar => Role::Unguarded,
            (PodSpecList::InitContainers, _) if has_check_name => Role::ImageCheck,
            (PodSpecList::InitContainers, _) => Role::InitContainer,
            (PodSpecList::Containers, _) => Role::Guarded,
            (PodSpecList::Volumes, Some(volumes))
                if has_check_name && volumes.holds_up_app_containers(place) =>
            {
                Role::ImageCheck
            }
            (PodSpecList::Volumes, Some(volumes))
                if checks.made_of == InitContainerOrImageVolume::ImageVolume
                    && volumes.has_only_app_containers(place) =>
            {
                Role::Guarded
            }
            (PodSpecList::EphemeralContainers | PodSpecList::Volumes, _) => Role::Unguarded,
        }
    }
}

/// Whether a place is an image check in a Pod in which no app container has the place's image.
pub(crate) fn is_unused_image_check(
    place: &Place<'_>,
    mounters: &MountersByVolume<'_>,
    settings: &Settings,
) -> bool {
    let mut mounters = mounters.get(&*place.name).into_iter().flatten();
    let holds_up_app_containers = match place.list {
        PodSpecList::InitContainers => !place.is_native_sidecar,
        PodSpecList::Volumes => {
            mounters.any(|one| is_app_container(one) || ends_before_app_containers(one))
        }
        PodSpecList::Containers | PodSpecList::EphemeralContainers => false,
    };
    holds_up_app_containers && settings.image_checks.is_check_name(&place.name)
}

/// The volumes of a Pod that containers mount, and the images of its places.
///
/// All images of a repository that is looked up count as one image here. Otherwise a registry's
/// answer could decide whether a volume is a check, and the copy doesn't get that answer.
struct MountedVolumes<'p> {
    mounters: MountersByVolume<'p>,
    /// The images by list and index. A place that is exempt or has an invalid image is not among them.
    images: BTreeMap<(PodSpecList, usize), ImageIdentity<'p>>,
    /// How many app containers pull each image.
    app_containers: BTreeMap<ImageIdentity<'p>, usize>,
}

impl<'p> MountedVolumes<'p> {
    fn of(pod: &'p PodSpec<'p>, settings: &Settings) -> Self {
        let references = pod.places.iter().filter_map(|place| {
            let reference = Reference::parse(place.image_text()).ok()?;
            let is_exempt = settings.exempt.covers(&place.name, Some(reference));
            (!is_exempt).then_some((place, reference))
        });
        let references: Vec<(&Place<'_>, Reference<'_>)> = references.collect();
        let mut looked_up: BTreeSet<ImageIdentity<'p>> = BTreeSet::new();
        looked_up.extend(
            (references.iter())
                .filter(|(_, reference)| settings.registry.selects(reference))
                .map(|(_, reference)| reference.repository_identity()),
        );
        let mut images = BTreeMap::new();
        let mut app_containers: BTreeMap<ImageIdentity<'p>, usize> = BTreeMap::new();
        for (place, reference) in references {
            let repository = reference.repository_identity();
            let image = if looked_up.contains(&repository) {
                repository
            } else {
                reference.identity()
            };
            images.insert((place.list, place.index), image);
            if place.list == PodSpecList::Containers {
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
