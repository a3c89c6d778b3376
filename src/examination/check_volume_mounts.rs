//! Check volumes: the containers that carry them, and the paths at which they are mounted.

use crate::image::Reference;
use crate::pod::{ContainerOrVolume, Pod, PodSpecList};
use crate::settings::Settings;

/// The folder in which check volumes are mounted.
pub const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The path at which a check volume is mounted.
#[must_use]
pub fn mount_path(volume: &str) -> String {
    format!("{MOUNT_FOLDER}{volume}")
}

/// The carriers of added check volumes. An init container carries them, so that no app container
/// starts before the volumes are pulled. Without init containers, each app container carries them.
#[derive(Clone, Copy, Debug)]
pub enum CheckVolumeCarriers<'p> {
    /// This init container.
    InitContainer(&'p ContainerOrVolume<'p>),
    /// Every app container.
    AppContainers,
}

impl<'p> CheckVolumeCarriers<'p> {
    /// The carriers in a Pod whose init containers all stay.
    #[must_use]
    pub fn in_pod(pod: &'p Pod<'p>, settings: &Settings) -> Self {
        Self::among(pod.list(PodSpecList::InitContainers), settings)
    }

    /// The carrier among these init containers: the first that is neither a native sidecar nor
    /// exempt. If there is none, it is the first of them all, because a mount does no harm there.
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
