//! The Pod spec as the rules see it: a flat list of the places where an image stands.

pub mod platform;

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error, MapAccess};
use serde_json::value::RawValue;

use crate::edit::Edit;
use crate::json::{self, JsonString, Member, Members, ReadError};
use crate::pull_policy::PullPolicy;

/// The lists of a Pod spec in which images stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// `spec.initContainers`
    InitContainer,
    /// `spec.containers`
    Container,
    /// `spec.ephemeralContainers`
    EphemeralContainer,
    /// `spec.volumes[].image`, KEP-4639
    ImageVolume,
}

impl Slot {
    /// The list's name in the Pod spec.
    #[must_use]
    pub const fn list(self) -> &'static str {
        match self {
            Self::InitContainer => "initContainers",
            Self::Container => "containers",
            Self::EphemeralContainer => "ephemeralContainers",
            Self::ImageVolume => "volumes",
        }
    }

    /// The path from an element of the list to its image.
    #[must_use]
    pub const fn image_field(self) -> &'static str {
        match self {
            Self::ImageVolume => "image.reference",
            _ => "image",
        }
    }

    /// The path from an element of the list to its pull policy.
    #[must_use]
    pub const fn policy_field(self) -> &'static str {
        match self {
            Self::ImageVolume => "image.pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// All lists, in the order in which their places are kept.
    pub const ALL: [Self; 4] = [
        Self::InitContainer,
        Self::Container,
        Self::EphemeralContainer,
        Self::ImageVolume,
    ];
}

/// A place where an image stands: a container of any kind, or an image volume.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The list that holds it.
    pub slot: Slot,
    /// Its index in that list.
    pub index: usize,
    /// The name of the container or the volume.
    pub name: JsonString<'a>,
    /// An init container with `restartPolicy: Always` (KEP-753): it goes on running beside the
    /// containers, so it is no check.
    pub native_sidecar: bool,
    /// The image, where one is set.
    pub image: Option<JsonString<'a>>,
    /// The pull policy; `null` and `""` are "not set", as the API server has it.
    pub policy: Option<PullPolicy>,
    /// Where the policy stands, set or not.
    pub policy_place: Option<&'a str>,
    /// What the container mounts, once it was [read](Pod::read_mounts).
    pub mounts: Vec<Mount<'a>>,
    /// Where the list of its mounts stands, `null` included.
    pub mounts_place: Option<&'a str>,
    /// At UPDATE, the image that stood here before.
    pub previous_image: Option<String>,
}

impl<'a> Place<'a> {
    fn new(slot: Slot, index: usize) -> Self {
        Self {
            slot,
            index,
            name: JsonString::default(),
            native_sidecar: false,
            image: None,
            policy: None,
            policy_place: None,
            mounts: Vec::new(),
            mounts_place: None,
            previous_image: None,
        }
    }

    /// The image that stands here; empty where none is set.
    #[must_use]
    pub fn image_text(&self) -> &str {
        self.image.as_ref().map_or("", |image| &*image.value)
    }

    /// Whether the container mounts a volume.
    #[must_use]
    pub fn has_mounted(&self, volume: &str) -> bool {
        self.mounts.iter().any(|mount| mount.name == volume)
    }

    /// What sets its pull policy: the value is replaced, or the field is put behind the image.
    #[must_use]
    pub fn policy_edit(&self, policy: PullPolicy) -> Option<Edit<'a>> {
        let policy = json::quoted(policy.as_str());
        if let Some(place) = self.policy_place {
            return Some(Edit::replace(place, policy));
        }
        let key = match self.slot {
            Slot::ImageVolume => "pullPolicy",
            _ => "imagePullPolicy",
        };
        let image = self.image.as_ref()?;
        Some(Edit::after(image.raw, format!(",\"{key}\":{policy}")))
    }

    /// What sets its image.
    #[must_use]
    pub fn image_edit(&self, image: &str) -> Option<Edit<'a>> {
        let place = self.image.as_ref()?.raw;
        Some(Edit::replace(place, json::quoted(image)))
    }

    fn set_policy(&mut self, policy: &Policy<'a>) {
        self.policy = policy.value;
        self.policy_place = Some(policy.place);
    }
}

/// The value of a pull policy, and where it stands.
struct Policy<'a> {
    value: Option<PullPolicy>,
    place: &'a str,
}

impl<'de: 'a, 'a> Deserialize<'de> for Policy<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = <&RawValue>::deserialize(deserializer)?.get();
        let value = match place {
            "null" | "\"\"" => None,
            _ => {
                let policy = PullPolicy::parse(&JsonString::read(place)?.value);
                let policy = policy.ok_or("must be Always, IfNotPresent or Never");
                Some(policy.map_err(D::Error::custom)?)
            }
        };
        Ok(Self { value, place })
    }
}

/// A container of any kind.
impl<'a> Members<'a> for Place<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => self.name = member.read::<Option<_>>()?.unwrap_or_default(),
            "image" => self.image = member.read()?,
            "imagePullPolicy" => self.set_policy(&member.read()?),
            "restartPolicy" if self.slot == Slot::InitContainer => {
                let policy: Option<JsonString<'_>> = member.read()?;
                self.native_sidecar = policy.is_some_and(|policy| policy.value == "Always");
            }
            "volumeMounts" => self.mounts_place = Some(member.read::<&RawValue>()?.get()),
            _ => member.skip()?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        self.name.raw.is_empty().then_some("name")
    }
}

/// An element of a container's `volumeMounts`.
#[derive(Clone, Debug, Default)]
pub struct Mount<'a> {
    /// The volume.
    pub name: Cow<'a, str>,
    /// Where it is mounted in the container.
    pub path: Cow<'a, str>,
}

impl<'a> Members<'a> for Mount<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => self.name = member.read::<JsonString<'_>>()?.value,
            "mountPath" => self.path = member.read::<JsonString<'_>>()?.value,
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// An element of the Pod's `volumes`.
struct Volume<'a> {
    name: JsonString<'a>,
    /// `image`, if that is what it is.
    source: Option<Place<'a>>,
    index: usize,
}

impl<'a> Members<'a> for Volume<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => self.name = member.read::<Option<_>>()?.unwrap_or_default(),
            "image" => {
                let mut source = ImageVolumeSource(Place::new(Slot::ImageVolume, self.index));
                let is_one = member.optional_object(&mut source)?;
                self.source = is_one.then_some(source.0);
            }
            _ => member.skip()?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        (self.source.is_some() && self.name.raw.is_empty()).then_some("name")
    }
}

/// `volumes[].image`
struct ImageVolumeSource<'a>(Place<'a>);

impl<'a> Members<'a> for ImageVolumeSource<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "reference" => self.0.image = member.read()?,
            "pullPolicy" => self.0.set_policy(&member.read()?),
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// A Pod spec, read.
#[derive(Clone, Debug, Default)]
pub struct Pod<'a> {
    /// Init containers, containers, ephemeral containers, image volumes, each in their order.
    pub places: Vec<Place<'a>>,
    /// The names of all volumes.
    pub volume_names: Vec<Cow<'a, str>>,
    /// The key of the list of init containers.
    pub init_containers_key: Option<&'a str>,
    /// The key of the list of volumes.
    pub volumes_key: Option<&'a str>,
    /// `os.name`
    pub os: Option<Cow<'a, str>>,
    /// `nodeSelector`, for who asks.
    pub node_selector: Option<&'a str>,
    /// `affinity`, for who asks.
    pub affinity: Option<&'a str>,
}

impl<'a> Pod<'a> {
    /// The places of one list, in their order.
    #[must_use]
    pub fn list(&self, slot: Slot) -> impl DoubleEndedIterator<Item = &Place<'a>> + Clone {
        self.places.iter().filter(move |place| place.slot == slot)
    }

    /// The place at an index of a list.
    #[must_use]
    pub fn place(&self, slot: Slot, index: usize) -> Option<&Place<'a>> {
        // The places are in the order of the lists, and in each list of their indexes.
        let found = self
            .places
            .binary_search_by_key(&(slot, index), |place| (place.slot, place.index));
        self.places.get(found.ok()?)
    }

    /// Whether any image stands in a volume.
    #[must_use]
    pub fn has_image_volumes(&self) -> bool {
        // They come last.
        let last = self.places.last();
        last.is_some_and(|place| place.slot == Slot::ImageVolume)
    }

    /// Whether it is for Windows nodes, as `os.name` says.
    #[must_use]
    pub fn is_windows(&self) -> bool {
        self.os.as_deref() == Some("windows")
    }

    /// Reads what the containers mount, which few Pods need.
    ///
    /// # Errors
    /// Where its shape is not what Kubernetes says, with the path to it.
    pub fn read_mounts(&mut self, spec_path: &str) -> Result<(), ReadError> {
        for place in &mut self.places {
            if let Some(text) = place.mounts_place {
                let (list, index) = (place.slot.list(), place.index);
                let path = format!("{spec_path}.{list}[{index}].volumeMounts");
                place.mounts = json::read_object_list(text, &path, |_| Mount::default())?;
            }
        }
        Ok(())
    }
}

/// A Pod spec while it is read: its lists can come in any order.
#[derive(Default)]
pub(crate) struct PodSpec<'a> {
    pod: Pod<'a>,
    init_containers: Vec<Place<'a>>,
    containers: Vec<Place<'a>>,
    ephemeral_containers: Vec<Place<'a>>,
    volumes: Vec<Volume<'a>>,
}

impl<'a> PodSpec<'a> {
    /// The places in one list.
    pub(crate) fn into_pod(self) -> Pod<'a> {
        let mut pod = self.pod;
        pod.places = self.init_containers;
        pod.places.extend(self.containers);
        pod.places.extend(self.ephemeral_containers);
        for volume in self.volumes {
            pod.volume_names.push(volume.name.value.clone());
            if let Some(source) = volume.source {
                pod.places.push(Place {
                    name: volume.name,
                    ..source
                });
            }
        }
        pod
    }
}

impl<'a> Members<'a> for PodSpec<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        let container = |slot| move |index| Place::new(slot, index);
        match member.name() {
            "initContainers" => {
                self.pod.init_containers_key = Some(member.raw_key()?);
                self.init_containers = member.object_list(container(Slot::InitContainer))?;
            }
            "containers" => self.containers = member.object_list(container(Slot::Container))?,
            "ephemeralContainers" => {
                self.ephemeral_containers =
                    member.object_list(container(Slot::EphemeralContainer))?;
            }
            "volumes" => {
                self.pod.volumes_key = Some(member.raw_key()?);
                self.volumes = member.object_list(|index| Volume {
                    name: JsonString::default(),
                    source: None,
                    index,
                })?;
            }
            "os" => {
                let mut os = Os(None);
                member.optional_object(&mut os)?;
                self.pod.os = os.0;
            }
            "nodeSelector" => self.pod.node_selector = Some(member.read::<&RawValue>()?.get()),
            "affinity" => self.pod.affinity = Some(member.read::<&RawValue>()?.get()),
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// `os`
struct Os<'a>(Option<Cow<'a, str>>);

impl<'a> Members<'a> for Os<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => {
                let name: Option<JsonString<'_>> = member.read()?;
                self.0 = name.map(|name| name.value);
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}
