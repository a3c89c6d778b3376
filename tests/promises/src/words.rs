//! The words of the documentation, as functions of a Pod and the settings: *image check*, *first
//! init container* and *needs a check*. They read like the definitions, and share
//! no code with this policy.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::image::{PullPolicy, Reference, is_image_id, on_node};
use crate::json::{elements, text};
use crate::settings::Settings;

/// The list of a Pod spec in which a place stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    InitContainers,
    Containers,
    EphemeralContainers,
    Volumes,
}

impl List {
    pub(crate) const ALL: [Self; 4] = [
        Self::InitContainers,
        Self::Containers,
        Self::EphemeralContainers,
        Self::Volumes,
    ];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::InitContainers => "initContainers",
            Self::Containers => "containers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }
}

/// An entry that holds an image reference.
#[derive(Clone, Debug)]
pub(crate) struct Place<'p> {
    pub(crate) list: List,
    pub(crate) index: usize,
    pub(crate) name: &'p str,
    pub(crate) image: &'p str,
    pub(crate) pull_policy: PullPolicy,
    pub(crate) is_exempt: bool,
    pub(crate) is_native_sidecar: bool,
    /// The names of the volumes that a container mounts.
    mounts: BTreeSet<&'p str>,
}

impl<'p> Place<'p> {
    fn of(list: List, index: usize, entry: &'p Value, settings: Settings<'_>) -> Option<Self> {
        let name = text(&entry["name"]);
        let (image, written) = match list {
            List::Volumes if entry["image"].is_object() => {
                let source = &entry["image"];
                (text(&source["reference"]), text(&source["pullPolicy"]))
            }
            List::Volumes => return None,
            _ => (text(&entry["image"]), text(&entry["imagePullPolicy"])),
        };
        let mounts = elements(entry, "volumeMounts").iter();
        Some(Self {
            list,
            index,
            name,
            image,
            pull_policy: PullPolicy::read(written, image),
            is_exempt: settings.matches("images.exempt", image),
            is_native_sidecar: list == List::InitContainers && entry["restartPolicy"] == "Always",
            mounts: mounts.map(|mount| text(&mount["name"])).collect(),
        })
    }

    /// Whether this container mounts that volume.
    pub(crate) fn mounts_volume(&self, volume: &Place) -> bool {
        volume.list == List::Volumes && self.mounts.contains(volume.name)
    }

    pub(crate) fn is_same_image(&self, other: &Place) -> bool {
        on_node(self.image) == on_node(other.image)
    }

    fn is_init(&self) -> bool {
        self.list == List::InitContainers
    }

    /// An init container that ends before the next one starts.
    fn ends(&self) -> bool {
        self.is_init() && !self.is_native_sidecar
    }
}

/// The places of a Pod, and the settings by which they are read.
#[derive(Clone, Debug)]
pub(crate) struct Pod<'p> {
    pub(crate) places: Vec<Place<'p>>,
    spec: &'p Value,
    settings: Settings<'p>,
}

impl<'p> Pod<'p> {
    pub(crate) fn read(spec: &'p Value, settings: Settings<'p>) -> Self {
        let places = List::ALL.into_iter().flat_map(|list| {
            let entries = elements(spec, list.key()).iter().enumerate();
            entries.filter_map(move |(index, entry)| Place::of(list, index, entry, settings))
        });
        Self {
            places: places.collect(),
            spec,
            settings,
        }
    }

    fn init_containers(&self) -> impl Iterator<Item = &Place<'p>> {
        self.places.iter().filter(|place| place.is_init())
    }

    /// The containers that start with the Pod, in the order in which they start.
    fn started(&self) -> impl Iterator<Item = &Place<'p>> {
        let apps = self.places.iter();
        self.init_containers()
            .chain(apps.filter(|place| place.list == List::Containers))
    }

    /// Whether a reference can't be parsed. An image ID counts too where the settings need to know
    /// the image.
    pub(crate) fn is_invalid(&self, place: &Place) -> bool {
        let needs_image = !self.settings.list("images.requireAlways").is_empty();
        Reference::parse(place.image).is_none() || needs_image && is_image_id(place.image)
    }

    /// An init container that is no native sidecar, or an image volume that an init container (no
    /// native sidecar) or a non-exempt app container mounts, with one of the name prefixes.
    pub(crate) fn is_check(&self, place: &Place) -> bool {
        let mut prefixes = self.settings.name_prefixes().into_iter();
        let carries = |container: &Place| {
            (container.ends() || container.list == List::Containers && !container.is_exempt)
                && container.mounts.contains(place.name)
        };
        let is_of_a_check = match place.list {
            List::InitContainers => place.ends(),
            List::Volumes => self.places.iter().any(carries),
            _ => false,
        };
        !place.is_exempt && is_of_a_check && prefixes.any(|prefix| place.name.starts_with(prefix))
    }

    /// The first init container that is neither a native sidecar nor exempt.
    pub(crate) fn first_init_container(&self) -> Option<&Place<'p>> {
        self.init_containers()
            .find(|place| place.ends() && !place.is_exempt)
    }

    fn is_after_first(&self, container: &Place) -> bool {
        let first = self.first_init_container();
        container.list == List::Containers
            || container.is_init() && first.is_some_and(|first| container.index > first.index)
    }

    /// The first container that mounts a volume.
    fn first_to_mount(&self, volume: &Place) -> Option<&Place<'p>> {
        self.started()
            .find(|container| container.mounts.contains(volume.name))
    }

    /// Whether added checks are image volumes.
    pub(crate) fn has_volumes_as_checks(&self) -> bool {
        self.settings.as_volumes()
    }

    /// Every app container. With image volumes as checks, also every container and image volume
    /// that begins after the first init container, and that is no image check.
    pub(crate) fn needs_check(&self, place: &Place) -> bool {
        if place.is_exempt {
            return false;
        }
        let with_volumes = self.settings.as_volumes() && !self.is_check(place);
        match place.list {
            List::Containers => true,
            List::InitContainers => with_volumes && self.is_after_first(place),
            List::EphemeralContainers => false,
            List::Volumes => {
                let first = self.first_to_mount(place);
                let mut mounting = self
                    .started()
                    .filter(|container| container.mounts_volume(place));
                with_volumes
                    && mounting.any(|container| !container.is_exempt)
                    && first.is_some_and(|container| self.is_after_first(container))
            }
        }
    }

    pub(crate) fn has_checks(&self) -> bool {
        self.places.iter().any(|place| self.is_check(place))
    }

    /// Whether *missing-check* applies to the Pod.
    pub(crate) fn may_lack_checks(&self) -> bool {
        let can_be_half_done = self.first_init_container().is_some() || !self.always_restarts();
        self.has_checks() || self.settings.pods_without_checks() && can_be_half_done
    }

    fn always_restarts(&self) -> bool {
        let policy = text(&self.spec["restartPolicy"]);
        policy.is_empty() || policy == "Always"
    }
}
