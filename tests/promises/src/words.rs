//! The words of the documentation, as functions of a Pod and the settings: *image check*, *first
//! init container*, *needs a check* and *starts after*. They read like the definitions, and share
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
    /// The pull policy that is written, or an empty text.
    pub(crate) written: &'p str,
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
            written,
            pull_policy: PullPolicy::read(written, image),
            is_exempt: settings.matches("images.exempt", image),
            is_native_sidecar: list == List::InitContainers && entry["restartPolicy"] == "Always",
            mounts: mounts.map(|mount| text(&mount["name"])).collect(),
        })
    }

    /// Whether this container mounts that volume.
    pub(crate) fn mounts_volume(&self, volume: &Place) -> bool {
        self.is_container() && volume.list == List::Volumes && self.mounts.contains(volume.name)
    }

    pub(crate) fn is_container(&self) -> bool {
        self.list != List::Volumes
    }

    pub(crate) fn is_same_image(&self, other: &Place) -> bool {
        on_node(self.image) == on_node(other.image)
    }

    pub(crate) fn has_digest(&self) -> bool {
        Reference::parse(self.image).is_some_and(|image| image.digest.is_some())
    }

    fn is_init(&self) -> bool {
        self.list == List::InitContainers
    }

    /// An init container that ends before the next one starts.
    fn ends(&self) -> bool {
        self.is_init() && !self.is_native_sidecar
    }

    /// The path of the place's image or pull policy, or of the whole place.
    pub(crate) fn path(&self, field: &str) -> String {
        let (list, index) = (self.list.key(), self.index);
        let field = match (field, self.list) {
            ("", _) => "",
            ("image", List::Volumes) => ".image.reference",
            ("image", _) => ".image",
            (_, List::Volumes) => ".image.pullPolicy",
            _ => ".imagePullPolicy",
        };
        format!("spec.{list}[{index}]{field}")
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

    /// The places that this policy examines.
    pub(crate) fn examined(&self) -> impl Iterator<Item = &Place<'p>> {
        self.places.iter().filter(|place| !place.is_exempt)
    }

    /// The same Pod without some of its places.
    pub(crate) fn without(&self, is_left_out: impl Fn(&Place) -> bool) -> Self {
        let mut pod = self.clone();
        pod.places.retain(|place| !is_left_out(place));
        pod
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

    /// The checks with the image of a place.
    pub(crate) fn checks_of(&self, place: &Place) -> impl Iterator<Item = &Place<'p>> {
        let is_of_image = |check: &&Place| check.is_same_image(place) && self.is_check(check);
        self.places.iter().filter(is_of_image)
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

    pub(crate) fn needing_checks(&self) -> impl Iterator<Item = &Place<'p>> {
        self.places.iter().filter(|place| self.needs_check(place))
    }

    /// The position of a container among the init containers. App containers come last. A volume is
    /// pulled with the first container that mounts it.
    fn moment(&self, place: &Place) -> Option<usize> {
        match place.list {
            List::InitContainers => Some(place.index),
            List::Containers => Some(usize::MAX),
            List::EphemeralContainers => None,
            List::Volumes => self.moment(self.first_to_mount(place)?),
        }
    }

    /// Whether a place starts after the pull of another one.
    pub(crate) fn starts_after(&self, place: &Place, pull: &Place) -> bool {
        let (Some(own), Some(pulled)) = (self.moment(place), self.moment(pull)) else {
            return false;
        };
        let mounting = |volume: &Place| -> Vec<&Place<'p>> {
            let started = self.started();
            started
                .filter(|container| container.mounts_volume(volume))
                .collect()
        };
        let is_after = match pull.list {
            List::InitContainers => pulled < own,
            List::Volumes if pulled != usize::MAX => pulled <= own,
            List::Volumes if place.list == List::Containers => place.mounts_volume(pull),
            List::Volumes if own == usize::MAX => mounting(place)
                .iter()
                .all(|container| container.mounts_volume(pull)),
            _ => false,
        };
        is_after && !place.is_exempt && !pull.is_exempt
    }

    /// Whether a place is pulled when the Pod starts.
    pub(crate) fn is_pulled(&self, place: &Place) -> bool {
        match place.list {
            List::EphemeralContainers => false,
            List::Volumes => self.first_to_mount(place).is_some(),
            _ => true,
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

    /// Whether *pull-once* says that the image of a container is pulled before the container
    /// starts.
    pub(crate) fn is_pulled_before(&self, container: &Place) -> bool {
        let is_lowered = container.list != List::EphemeralContainers
            && container.is_container()
            && !self.is_check(container);
        let mut inits = self
            .init_containers()
            .filter(|init| init.is_same_image(container) && init.pull_policy == PullPolicy::Always);
        self.settings.pull_once()
            && is_lowered
            && inits.any(|init| self.starts_after(container, init))
    }

    /// The places that were in an older Pod: the index of each in that Pod and in this one.
    pub(crate) fn kept_from(&self, old: &Self) -> Vec<(usize, usize)> {
        let is_same = |old: &Place, new: &Place| old.list == new.list && old.name == new.name;
        let kept = self.places.iter().enumerate();
        let kept = kept.filter(|(_, new)| old.places.iter().any(|old| is_same(old, new)));
        kept.enumerate().map(|(old, (new, _))| (old, new)).collect()
    }
}
