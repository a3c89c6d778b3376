//! The Pod spec as the rules see it: a flat list of the containers and image volumes.

mod requested_platforms;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::document::{JsonNode, WrongValue};
use crate::pull_policy::PullPolicy;

pub(crate) use self::requested_platforms::RequestedPlatforms;

/// The lists of a Pod spec whose elements hold image references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PodSpecList {
    /// `spec.initContainers`
    InitContainers,
    /// `spec.containers`
    Containers,
    /// `spec.ephemeralContainers`
    EphemeralContainers,
    /// `spec.volumes`. Only image volumes (KEP-4639) hold image references.
    Volumes,
}

impl PodSpecList {
    /// The list's name in the Pod spec.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InitContainers => "initContainers",
            Self::Containers => "containers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }

    /// The key of the image. In an image volume, it is a key of the member `image`.
    pub(crate) const fn image_key(self) -> &'static str {
        match self {
            Self::Volumes => "reference",
            _ => "image",
        }
    }

    /// The key of the pull policy. In an image volume, it is a key of the member `image`.
    pub(crate) const fn pull_policy_key(self) -> &'static str {
        match self {
            Self::Volumes => "pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// The path from an element of the list to its image.
    pub(crate) const fn image_field(self) -> &'static str {
        match self {
            Self::Volumes => "image.reference",
            _ => "image",
        }
    }

    /// The path from an element of the list to its pull policy.
    pub(crate) const fn pull_policy_field(self) -> &'static str {
        match self {
            Self::Volumes => "image.pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// The path of a field, or of a whole element if `field` is empty: for example
    /// `spec.containers[0].image`. `pod_spec` is the path of the Pod spec.
    pub(crate) fn path(self, pod_spec: &str, index: usize, field: &str) -> String {
        let (list, index) = (self.name(), index.to_string());
        let dot = if field.is_empty() { "" } else { "." };
        [pod_spec, ".", list, "[", &index, "]", dot, field].concat()
    }

    /// All lists, in the order in which [`PodSpec::places`] holds their elements.
    pub(crate) const ALL: [Self; 4] = [
        Self::InitContainers,
        Self::Containers,
        Self::EphemeralContainers,
        Self::Volumes,
    ];
}

/// A *place*: a container of any kind, or an image volume.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// The list of the Pod spec that holds the place.
    pub(crate) list: PodSpecList,
    /// The index of the place in this list.
    pub(crate) index: usize,
    /// The element of the list.
    pub(crate) node: JsonNode<'a>,
    /// The object that has the image and the pull policy: the container itself, or the member `image` of a volume.
    pub(crate) image_source: JsonNode<'a>,
    /// The name of the container or the volume.
    pub(crate) name: Cow<'a, str>,
    /// Whether the place is a native sidecar: an init container with `restartPolicy: Always` (KEP-753).
    /// A native sidecar goes on running beside the app containers, so it is no image check.
    pub(crate) is_native_sidecar: bool,
    /// The image, if one is set.
    pub(crate) image: Option<Cow<'a, str>>,
    /// The pull policy. `null` and `""` are "not set", as in the API server.
    pub(crate) policy: Option<PullPolicy>,
}

impl<'a> Place<'a> {
    /// Reads an element of a list.
    fn read(
        (list, index): (PodSpecList, usize),
        node: &JsonNode<'a>,
        image_source: &JsonNode<'a>,
    ) -> Result<Self, WrongValue<'a>> {
        let restart_policy = match list {
            PodSpecList::InitContainers => node.string("restartPolicy")?,
            _ => None,
        };
        Ok(Self {
            list,
            index,
            name: (node.string("name")?).ok_or_else(|| WrongValue::missing(node.text(), "name"))?,
            is_native_sidecar: restart_policy.as_deref() == Some("Always"),
            image: image_source.string(list.image_key())?,
            policy: pull_policy(image_source.optional(list.pull_policy_key())?.as_ref())?,
            node: node.clone(),
            image_source: image_source.clone(),
        })
    }

    /// The image as it is written. Empty if no image is set.
    pub(crate) fn image_text(&self) -> &str {
        self.image.as_deref().unwrap_or_default()
    }

    /// The volumes that the container mounts. They are read in each call.
    pub(crate) fn mounts(&self) -> Vec<VolumeMountOrDevice<'a>> {
        self.read_mounts("volumeMounts", "mountPath")
            .unwrap_or_default()
    }

    /// The volumes that the container uses as devices. They are read in each call.
    pub(crate) fn devices(&self) -> Vec<VolumeMountOrDevice<'a>> {
        self.read_mounts("volumeDevices", "devicePath")
            .unwrap_or_default()
    }

    fn read_mounts(
        &self,
        list: &str,
        path: &str,
    ) -> Result<Vec<VolumeMountOrDevice<'a>>, WrongValue<'a>> {
        let mounts = match self.list {
            PodSpecList::Volumes => Vec::new(),
            _ => self.node.list(list)?,
        };
        let read = |mount: &JsonNode<'a>| {
            Ok(VolumeMountOrDevice {
                name: mount.string("name")?.unwrap_or_default(),
                path: mount.string(path)?.unwrap_or_default(),
            })
        };
        mounts.iter().map(read).collect()
    }
}

/// Reads a pull policy.
fn pull_policy<'a>(value: Option<&JsonNode<'a>>) -> Result<Option<PullPolicy>, WrongValue<'a>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let wrong = || WrongValue::new(value.text(), "must be Always, IfNotPresent or Never");
    match &*value.as_string()? {
        "" => Ok(None),
        text => PullPolicy::parse(text).map(Some).ok_or_else(wrong),
    }
}

/// An element of a container's `volumeMounts` or `volumeDevices`.
pub(crate) struct VolumeMountOrDevice<'a> {
    /// The name of the volume.
    pub(crate) name: Cow<'a, str>,
    /// The path at which the container sees the volume.
    pub(crate) path: Cow<'a, str>,
}

/// Containers and image volumes by their list and name.
pub(crate) type PlacesByListAndName<'p> = BTreeMap<(PodSpecList, &'p str), &'p Place<'p>>;

/// The containers that mount each volume of a Pod, by the name of the volume.
pub(crate) type MountersByVolume<'a> = BTreeMap<Cow<'a, str>, Vec<&'a Place<'a>>>;

/// A Pod spec that was read.
#[derive(Clone, Debug)]
pub(crate) struct PodSpec<'a> {
    /// The Pod spec.
    pub(crate) spec: JsonNode<'a>,
    /// Init containers, app containers, ephemeral containers and image volumes, in this order.
    pub(crate) places: Vec<Place<'a>>,
    /// The names of all volumes.
    pub(crate) volume_names: Vec<Cow<'a, str>>,
    /// Whether `spec.hostUsers` is `false`: the Pod has a user namespace of its own.
    has_user_namespace: bool,
    /// `spec.runtimeClassName`
    runtime_class: Option<Cow<'a, str>>,
    /// `spec.os.name`
    os_name: Option<Cow<'a, str>>,
}

impl<'a> PodSpec<'a> {
    /// Reads a Pod spec.
    ///
    /// # Errors
    /// A value that every request needs has a wrong shape.
    pub(crate) fn read(spec: JsonNode<'a>) -> Result<Self, WrongValue<'a>> {
        let mut places = Vec::new();
        for list in [
            PodSpecList::InitContainers,
            PodSpecList::Containers,
            PodSpecList::EphemeralContainers,
        ] {
            for (index, container) in spec.list(list.name())?.iter().enumerate() {
                places.push(Place::read((list, index), container, container)?);
            }
        }
        let list = PodSpecList::Volumes;
        let mut volume_names = Vec::new();
        for (index, volume) in spec.list(list.name())?.iter().enumerate() {
            volume_names.push(volume.string("name")?.unwrap_or_default());
            if let Some(source) = volume.optional("image")? {
                places.push(Place::read((list, index), volume, &source)?);
            }
        }
        let os = spec.optional("os")?;
        Ok(Self {
            places,
            volume_names,
            has_user_namespace: spec.boolean("hostUsers")? == Some(false),
            runtime_class: spec.string("runtimeClassName")?,
            os_name: os.map_or(Ok(None), |os| os.string("name"))?,
            spec,
        })
    }

    /// Checks the shapes of the containers' mounts and devices.
    ///
    /// # Errors
    /// A list of mounts or devices has a wrong shape.
    pub(crate) fn check_mounts(&self) -> Result<(), WrongValue<'a>> {
        for place in &self.places {
            place.read_mounts("volumeMounts", "mountPath")?;
            place.read_mounts("volumeDevices", "devicePath")?;
        }
        Ok(())
    }

    /// The init and app containers that mount each volume, in the order of the Pod.
    pub(crate) fn mounters(&self) -> MountersByVolume<'_> {
        let mut mounters: MountersByVolume<'_> = BTreeMap::new();
        let is_ephemeral = |place: &&Place<'_>| place.list == PodSpecList::EphemeralContainers;
        for place in self.places.iter().filter(|place| !is_ephemeral(place)) {
            let mut names = BTreeSet::new();
            names.extend(place.mounts().into_iter().map(|mount| mount.name));
            for name in names {
                mounters.entry(name).or_default().push(place);
            }
        }
        mounters
    }

    /// The containers or image volumes of one list, in their order.
    pub(crate) fn list(
        &self,
        list: PodSpecList,
    ) -> impl DoubleEndedIterator<Item = &Place<'a>> + Clone {
        self.places.iter().filter(move |place| place.list == list)
    }

    /// The container or image volume at an index of a list.
    pub(crate) fn place(&self, list: PodSpecList, index: usize) -> Option<&Place<'a>> {
        // The places are sorted by list and index.
        let key = |place: &Place<'_>| (place.list, place.index);
        let found = self.places.binary_search_by_key(&(list, index), key);
        self.places.get(found.ok()?)
    }

    /// The containers and image volumes by their list and name. If several have one name, the last one counts.
    pub(crate) fn places_by_list_and_name(&self) -> PlacesByListAndName<'_> {
        let mut by_name = BTreeMap::new();
        for place in &self.places {
            by_name.insert((place.list, &*place.name), place);
        }
        by_name
    }

    /// The field because of which the Pod's nodes may be unable to mount image volumes. Many nodes can't if the
    /// Pod has a user namespace (containerd before 2.1.7 and 2.2.2, containerd#12812) or a runtime class (Kata
    /// Containers, kata-containers#13749, and gVisor, gvisor#14471).
    pub(crate) fn refuses_image_volumes(&self) -> Option<&'static str> {
        let runtime_class = self.runtime_class.as_deref().unwrap_or_default();
        if self.has_user_namespace {
            Some("hostUsers: false")
        } else {
            (!runtime_class.is_empty()).then_some("runtimeClassName")
        }
    }

    /// Whether the Pod has image volumes.
    pub(crate) fn has_image_volumes(&self) -> bool {
        // Image volumes are the last places.
        let last = self.places.last();
        last.is_some_and(|place| place.list == PodSpecList::Volumes)
    }

    /// Whether `spec.resources` has a request or a limit for the whole Pod (KEP-2837), of cpu, memory or
    /// huge pages. These are the only resources that a Pod can have as a whole. Source:
    /// `IsSupportedPodLevelResource` in `pkg/apis/core/v1/helper/helpers.go`.
    pub(crate) fn has_resources(&self) -> bool {
        let Some(resources) = self.spec.get("resources") else {
            return false;
        };
        let lists = ["requests", "limits"].map(|key| resources.get(key));
        let mut resources = lists.iter().flatten().flat_map(JsonNode::members);
        resources
            .any(|(name, _)| matches!(&*name, "cpu" | "memory") || name.starts_with("hugepages-"))
    }

    /// Whether the Pod is for Windows nodes.
    pub(crate) fn is_windows(&self) -> bool {
        requested_platforms::is_windows(&self.spec, self.os_name.as_deref())
    }

    /// The platforms that the Pod asks for.
    pub(crate) fn requested_platforms(&self) -> RequestedPlatforms {
        RequestedPlatforms::read(&self.spec, self.os_name.as_deref())
    }
}
