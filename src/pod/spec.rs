//! The parts of a Pod spec that belong to no single container.

use serde_json::Value;

use super::List;
use super::nodes::Nodes;
use crate::json::{self, Wrong};

/// A Pod spec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec<'o> {
    value: &'o Value,
    host_users: Option<bool>,
    runtime_class: Option<&'o str>,
    os_name: Option<&'o str>,
    restart_policy: Option<&'o str>,
}

impl<'o> Spec<'o> {
    /// Reads a Pod spec, apart from its containers and volumes.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub(crate) fn read(value: &'o Value) -> Result<Self, Wrong<'o>> {
        let os = json::member(value, "os")?;
        Ok(Self {
            value,
            host_users: json::boolean(value, "hostUsers")?,
            runtime_class: json::string(value, "runtimeClassName")?,
            os_name: os.map_or(Ok(None), |os| json::string(os, "name"))?,
            restart_policy: json::string(value, "restartPolicy")?,
        })
    }

    /// The entries of a list.
    ///
    /// # Errors
    /// The list is none.
    pub(crate) fn list(&self, list: List) -> Result<&'o [Value], Wrong<'o>> {
        json::list(self.value, list.name())
    }

    /// The names of the volumes.
    pub(crate) fn volume_names(&self) -> impl Iterator<Item = &'o str> + use<'o> {
        json::elements(self.value, List::Volumes.name())
            .iter()
            .filter_map(|volume| json::text(volume, "name"))
    }

    /// Whether the Pod's containers are always started again, so that its work is never half done. `Always` is also the
    /// default.
    pub(crate) fn restarts_always(&self) -> bool {
        matches!(self.restart_policy, None | Some("" | "Always"))
    }

    /// The field because of which many of the Pod's nodes can't mount image volumes: a user namespace (containerd before
    /// 2.1.7 and 2.2.2, containerd#12812) or a runtime class (Kata Containers, kata-containers#13749, and gVisor,
    /// gvisor#14471).
    pub(crate) fn refuses_image_volumes(&self) -> Option<&'static str> {
        if self.host_users == Some(false) {
            return Some("hostUsers: false");
        }
        let has_class = self.runtime_class.is_some_and(|name| !name.is_empty());
        has_class.then_some("runtimeClassName")
    }

    /// Whether `spec.resources` has a request or a limit for the whole Pod (KEP-2837), of cpu, memory or huge pages. These
    /// are the only resources that a Pod can have as a whole. Source: `IsSupportedPodLevelResource` in
    /// `pkg/apis/core/v1/helper/helpers.go`.
    pub(crate) fn has_resources(&self) -> bool {
        let lists =
            ["requests", "limits"].map(|key| self.value.get("resources")?.get(key)?.as_object());
        let mut names = lists
            .into_iter()
            .flatten()
            .flat_map(|resources| resources.keys());
        names.any(|name| matches!(&**name, "cpu" | "memory") || name.starts_with("hugepages-"))
    }

    /// The nodes that the Pod asks for.
    pub(crate) fn nodes(&self) -> Nodes<'o> {
        Nodes::of(self.value, self.os_name)
    }
}

/// A volume that a container mounts, or uses as a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mount<'o> {
    /// The name of the volume.
    pub(crate) volume: &'o str,
    /// The path at which the container sees the volume.
    pub(crate) path: &'o str,
    /// Whether it is used as a device.
    pub(crate) is_device: bool,
}

/// The mounts and the devices of a container.
///
/// # Errors
/// A value has a wrong shape.
pub(crate) fn mounts(container: &Value) -> Result<Vec<Mount<'_>>, Wrong<'_>> {
    let mut mounts = Vec::new();
    for (list, path, is_device) in [
        ("volumeMounts", "mountPath", false),
        ("volumeDevices", "devicePath", true),
    ] {
        for mount in json::list(container, list)? {
            let volume = json::string(mount, "name")?.unwrap_or_default();
            let path = json::string(mount, path)?.unwrap_or_default();
            mounts.push(Mount {
                volume,
                path,
                is_device,
            });
        }
    }
    Ok(mounts)
}
