//! The Pod spec as the rules see it: a flat list of the containers and image volumes.

pub mod copied_check_fields;
pub mod field_path;
mod node_os;
mod pod_spec_list;
pub mod requested_platforms;
mod resources;

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error, MapAccess};
use serde_json::value::RawValue;

use crate::json::{self, JsonString, Member, Members, ReadError};
use crate::pull_policy::PullPolicy;

use self::copied_check_fields::CopiedCheckFields;
use self::field_path::FieldPath;
pub use self::pod_spec_list::PodSpecList;
use self::requested_platforms::RequestedPlatforms;
use self::resources::sets_pod_resources;

/// A *place*: a container of any kind, or an image volume.
#[derive(Clone, Debug)]
pub struct ContainerOrVolume<'a> {
    /// The list of the Pod spec that holds the place.
    pub list: PodSpecList,
    /// The index of the place in this list.
    pub index: usize,
    /// The name of the container or the volume.
    pub name: JsonString<'a>,
    /// Whether the place is a native sidecar: an init container with `restartPolicy: Always` (KEP-753).
    /// A native sidecar goes on running beside the app containers, so it is no image check.
    pub is_native_sidecar: bool,
    /// The image, if one is set.
    pub image: Option<JsonString<'a>>,
    /// The pull policy. `null` and `""` are "not set", as in the API server.
    pub policy: Option<PullPolicy>,
    /// The value of the pull policy in the payload, `null` and `""` included.
    pub policy_text: Option<&'a str>,
    /// The volumes that the container mounts. [`Pod::read_mounts`] reads them.
    pub mounts: Vec<Mount<'a>>,
    /// The value of `volumeMounts` in the payload, `null` included.
    pub mounts_text: Option<&'a str>,
    /// The paths of the devices that the container uses. [`Pod::read_mounts`] reads them.
    pub device_paths: Vec<Cow<'a, str>>,
    /// The value of `volumeDevices` in the payload.
    devices_text: Option<&'a str>,
    /// For an init container with the name of a check: the fields that an added check may copy.
    /// [`Pod::read_checks`] reads them.
    pub as_check: Option<Box<CopiedCheckFields<'a>>>,
    /// At UPDATE of a Pod, the image of the stored container with the same list and name.
    pub stored_image: Option<String>,
    /// Whether the rules examine the place. At UPDATE, they examine only new places and new images.
    pub is_in_scope: bool,
}

impl<'a> ContainerOrVolume<'a> {
    fn new(list: PodSpecList, index: usize) -> Self {
        Self {
            list,
            index,
            name: JsonString::default(),
            is_native_sidecar: false,
            image: None,
            policy: None,
            policy_text: None,
            mounts: Vec::new(),
            mounts_text: None,
            device_paths: Vec::new(),
            devices_text: None,
            as_check: None,
            stored_image: None,
            is_in_scope: true,
        }
    }

    /// The image as it is written. Empty if no image is set.
    #[must_use]
    pub fn image_text(&self) -> &str {
        self.image.as_ref().map_or("", |image| &*image.value)
    }

    /// Whether the container mounts the volume with this name.
    #[must_use]
    pub fn has_mounted(&self, volume: &str) -> bool {
        self.mounts.iter().any(|mount| mount.name == volume)
    }

    fn set_policy(&mut self, policy: &PolicyText<'a>) {
        self.policy = policy.value;
        self.policy_text = Some(policy.text);
    }
}

/// A pull policy, and its value in the payload.
struct PolicyText<'a> {
    value: Option<PullPolicy>,
    text: &'a str,
}

impl<'de: 'a, 'a> Deserialize<'de> for PolicyText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let value = match text {
            "null" | "\"\"" => None,
            _ => {
                let policy = PullPolicy::parse(&JsonString::read(text)?.value);
                let policy = policy.ok_or("must be Always, IfNotPresent or Never");
                Some(policy.map_err(D::Error::custom)?)
            }
        };
        Ok(Self { value, text })
    }
}

/// Reads a container of any kind.
impl<'a> Members<'a> for ContainerOrVolume<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => self.name = member.read::<Option<_>>()?.unwrap_or_default(),
            "image" => self.image = member.read()?,
            "imagePullPolicy" => self.set_policy(&member.read()?),
            "restartPolicy" if self.list == PodSpecList::InitContainers => {
                let policy: Option<JsonString<'_>> = member.read()?;
                self.is_native_sidecar = policy.is_some_and(|policy| policy.value == "Always");
            }
            "volumeMounts" => self.mounts_text = Some(member.read::<&RawValue>()?.get()),
            "volumeDevices" => self.devices_text = Some(member.read::<&RawValue>()?.get()),
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
    /// The name of the volume.
    pub name: Cow<'a, str>,
    /// The path at which the container mounts the volume.
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

/// An element of a container's `volumeDevices`. Only its path is read.
#[derive(Default)]
struct VolumeDevice<'a>(Cow<'a, str>);

impl<'a> Members<'a> for VolumeDevice<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "devicePath" => self.0 = member.read::<JsonString<'_>>()?.value,
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// An element of the Pod's `volumes`.
struct VolumeReader<'a> {
    name: JsonString<'a>,
    /// The value of `image`, if the volume is an image volume.
    source: Option<ContainerOrVolume<'a>>,
    index: usize,
}

impl<'a> Members<'a> for VolumeReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => self.name = member.read::<Option<_>>()?.unwrap_or_default(),
            "image" => {
                let mut source =
                    ImageVolumeSource(ContainerOrVolume::new(PodSpecList::Volumes, self.index));
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
struct ImageVolumeSource<'a>(ContainerOrVolume<'a>);

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

/// A Pod spec that was read.
#[derive(Clone, Debug, Default)]
pub struct Pod<'a> {
    /// Init containers, app containers, ephemeral containers and image volumes, in this order.
    pub places: Vec<ContainerOrVolume<'a>>,
    /// The names of all volumes.
    pub volume_names: Vec<Cow<'a, str>>,
    /// The value of `volumeClaimTemplates` in the payload, if the Pod spec is that of a `StatefulSet`.
    /// The controller makes a volume of each claim template.
    pub claim_templates: Option<&'a str>,
    /// The key `initContainers`, as a slice of the payload. It shows where the list begins.
    pub init_containers_key: Option<&'a str>,
    /// The key `volumes`, as a slice of the payload. It shows where the list begins.
    pub volumes_key: Option<&'a str>,
    /// Whether `spec.resources` has a request or a limit for the whole Pod, of cpu, memory or huge
    /// pages.
    pub has_resources: bool,
    /// Whether `spec.hostUsers` is `false`: the Pod has a user namespace of its own.
    pub has_user_namespace: bool,
    /// `spec.runtimeClassName`
    pub runtime_class: Option<Cow<'a, str>>,
    /// Whether the Pod is for Windows nodes. [`Pod::read_node_os`] sets this field.
    pub is_windows: bool,
    /// `os.name`
    pub os_name: Option<Cow<'a, str>>,
    /// The platforms that the Pod asks for. [`Pod::read_requested_platforms`] reads them.
    pub requested_platforms: RequestedPlatforms,
    /// The value of `nodeSelector` in the payload.
    node_selector: Option<&'a str>,
    /// The value of `affinity` in the payload.
    affinity: Option<&'a str>,
}

impl<'a> Pod<'a> {
    /// The containers or image volumes of one list, in their order.
    #[must_use]
    pub fn list(
        &self,
        list: PodSpecList,
    ) -> impl DoubleEndedIterator<Item = &ContainerOrVolume<'a>> + Clone {
        self.places.iter().filter(move |place| place.list == list)
    }

    /// The container or image volume at an index of a list.
    #[must_use]
    pub fn place(&self, list: PodSpecList, index: usize) -> Option<&ContainerOrVolume<'a>> {
        // The places are sorted by list and index.
        let found = self
            .places
            .binary_search_by_key(&(list, index), |place| (place.list, place.index));
        self.places.get(found.ok()?)
    }

    /// Whether the Pod's nodes can mount image volumes. Many nodes can't if the Pod has a user
    /// namespace (containerd before 2.1.7 and 2.2.2, containerd#12812) or a runtime class (Kata
    /// Containers, kata-containers#13749, and gVisor, gvisor#14471).
    #[must_use]
    pub fn can_mount_image_volumes(&self) -> bool {
        let runtime_class = self.runtime_class.as_deref().unwrap_or_default();
        !self.has_user_namespace && runtime_class.is_empty()
    }

    /// Whether the Pod has image volumes.
    #[must_use]
    pub fn has_image_volumes(&self) -> bool {
        // Image volumes are the last places.
        let last = self.places.last();
        last.is_some_and(|place| place.list == PodSpecList::Volumes)
    }

    /// Reads the mounts and the devices of the containers. They are only needed if the Pod has image
    /// volumes or may get some.
    ///
    /// # Errors
    /// A list of mounts or devices has a wrong shape. The error names the path of the wrong value.
    pub fn read_mounts(&mut self, pod_spec: &'static [&'static str]) -> Result<(), ReadError> {
        for place in &mut self.places {
            if let Some(text) = place.mounts_text {
                let path = FieldPath::Spec {
                    pod_spec,
                    list: place.list,
                    index: place.index,
                    field: "volumeMounts",
                };
                place.mounts =
                    json::read_object_list(text, &path.to_string(), |_| Mount::default())?;
            }
            if let Some(text) = place.devices_text {
                let path = FieldPath::Spec {
                    pod_spec,
                    list: place.list,
                    index: place.index,
                    field: "volumeDevices",
                };
                let devices =
                    json::read_object_list(text, &path.to_string(), |_| VolumeDevice::default())?;
                place.device_paths = devices.into_iter().map(|device| device.0).collect();
            }
        }
        Ok(())
    }

    /// Reads the fields that an added check may copy, from each init container for whose name
    /// `is_check` is true. `elements` has the text of each init container.
    ///
    /// # Errors
    /// An init container has a wrong shape.
    pub fn read_checks(
        &mut self,
        elements: &[&'a str],
        is_check: impl Fn(&str) -> bool,
    ) -> Result<(), ReadError> {
        for place in &mut self.places {
            if place.list == PodSpecList::InitContainers
                && is_check(&place.name.value)
                && let Some(text) = elements.get(place.index)
            {
                let mut check = CopiedCheckFields::default();
                json::read(text, "initContainers", &mut check)?;
                place.as_check = Some(Box::new(check));
            }
        }
        Ok(())
    }

    /// Reads whether the Pod is for Windows nodes. Only a few settings make this necessary.
    pub fn read_node_os(&mut self) {
        self.is_windows =
            node_os::is_windows(self.os_name.as_deref(), self.node_selector, self.affinity);
    }

    /// Reads the platforms that the Pod asks for, for `registry.platform`.
    pub fn read_requested_platforms(&mut self) {
        self.requested_platforms =
            RequestedPlatforms::read(self.node_selector, self.affinity, self.os_name.as_deref());
    }
}

/// Reads a Pod spec. The lists of a Pod spec can come in any order.
#[derive(Default)]
pub(crate) struct PodSpecReader<'a> {
    pod: Pod<'a>,
    init_containers: Vec<ContainerOrVolume<'a>>,
    containers: Vec<ContainerOrVolume<'a>>,
    ephemeral_containers: Vec<ContainerOrVolume<'a>>,
    volumes: Vec<VolumeReader<'a>>,
}

impl<'a> PodSpecReader<'a> {
    /// The Pod spec that was read.
    pub(crate) fn into_pod(self) -> Pod<'a> {
        let mut pod = self.pod;
        pod.places = self.init_containers;
        pod.places.extend(self.containers);
        pod.places.extend(self.ephemeral_containers);
        for volume in self.volumes {
            pod.volume_names.push(volume.name.value.clone());
            if let Some(source) = volume.source {
                pod.places.push(ContainerOrVolume {
                    name: volume.name,
                    ..source
                });
            }
        }
        pod
    }
}

impl<'a> Members<'a> for PodSpecReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        let container = |list| move |index| ContainerOrVolume::new(list, index);
        match member.name() {
            "initContainers" => {
                self.pod.init_containers_key = Some(member.raw_key()?);
                self.init_containers =
                    member.object_list(container(PodSpecList::InitContainers))?;
            }
            "containers" => {
                self.containers = member.object_list(container(PodSpecList::Containers))?;
            }
            "ephemeralContainers" => {
                self.ephemeral_containers =
                    member.object_list(container(PodSpecList::EphemeralContainers))?;
            }
            "volumes" => {
                self.pod.volumes_key = Some(member.raw_key()?);
                self.volumes = member.object_list(|index| VolumeReader {
                    name: JsonString::default(),
                    source: None,
                    index,
                })?;
            }
            "os" => {
                let mut os = OsReader(None);
                member.optional_object(&mut os)?;
                self.pod.os_name = os.0;
            }
            "nodeSelector" => self.pod.node_selector = Some(member.read::<&RawValue>()?.get()),
            "resources" => {
                let resources = member.read::<&RawValue>()?.get();
                self.pod.has_resources = sets_pod_resources(resources);
            }
            "hostUsers" => {
                self.pod.has_user_namespace = member.read::<Option<bool>>()? == Some(false);
            }
            "runtimeClassName" => {
                let name: Option<JsonString<'_>> = member.read()?;
                self.pod.runtime_class = name.map(|name| name.value);
            }
            "affinity" => self.pod.affinity = Some(member.read::<&RawValue>()?.get()),
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// `os`
struct OsReader<'a>(Option<Cow<'a, str>>);

impl<'a> Members<'a> for OsReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "name" => {
                self.0 = member
                    .read::<Option<JsonString<'_>>>()?
                    .map(|name| name.value);
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}
