//! Check volumes: the containers that carry them, and the paths at which they are mounted.

use crate::image::Reference;
use crate::pod::{ContainerOrVolume, Pod, PodSpecList};
use crate::settings::Settings;

/// The folder in which this policy mounts check volumes.
pub const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The path at which this policy mounts a check volume.
#[must_use]
pub fn mount_path(volume: &str) -> String {
    format!("{MOUNT_FOLDER}{volume}")
}

/// The carriers of the check volumes that this policy adds or moves. An init container carries the
/// volumes, so that no app container starts before the volumes are pulled. In a Pod without init
/// containers, each app container carries the volumes.
#[derive(Clone, Copy, Debug)]
pub enum CheckVolumeCarriers<'p> {
    /// This init container.
    InitContainer(&'p ContainerOrVolume<'p>),
    /// Every app container.
    AppContainers,
}

impl<'p> CheckVolumeCarriers<'p> {
    /// The carriers in a Pod from which no init container is removed.
    #[must_use]
    pub fn in_pod(pod: &'p Pod<'p>, settings: &Settings) -> Self {
        Self::among(pod.list(PodSpecList::InitContainers), settings)
    }

    /// The carrier is the first init container that is neither a native sidecar nor exempt. If there
    /// is no such init container, the carrier is the first of all init containers: a mount harms neither
    /// a native sidecar nor an exempt container. With no init container, the carriers are the app containers.
    #[must_use]
    pub fn among(
        init_containers: impl Iterator<Item = &'p ContainerOrVolume<'p>>,
        settings: &Settings,
    ) -> Self {
        let mut first = None;
        for place in init_containers {
            let reference = || Reference::parse(place.image_text()).ok();
            if !place.is_native_sidecar && !settings.exempt.covers(&place.name.value, reference) {
                return Self::InitContainer(place);
            }
            first = first.or(Some(place));
        }
        first.map_or(Self::AppContainers, Self::InitContainer)
    }

    /// The carriers as a list of containers.
    pub fn containers(self, pod: &'p Pod<'p>) -> impl Iterator<Item = &'p ContainerOrVolume<'p>> {
        let (one, all) = match self {
            Self::InitContainer(place) => (Some(place), None),
            Self::AppContainers => (None, Some(pod.list(PodSpecList::Containers))),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }
}
