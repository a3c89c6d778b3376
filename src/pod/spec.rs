//! The parts of a Pod spec that belong to no single container.

use serde_json::Value;

use super::list::List;
use crate::json::{self, InvalidField, lenient_list, lenient_string};

/// The label of a node with the name of its operating system, and the older name of this label.
const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];
/// The name of Windows in `spec.os.name` and in these labels.
const WINDOWS: &str = "windows";

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
    pub(crate) fn read(value: &'o Value) -> Result<Self, InvalidField<'o>> {
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
    /// The value is no list.
    pub(crate) fn entries(&self, list: List) -> Result<&'o [Value], InvalidField<'o>> {
        json::list(self.value, list.name())
    }

    pub(crate) fn volume_names(&self) -> impl Iterator<Item = &'o str> + use<'o> {
        let volumes = lenient_list(self.value, List::Volumes.name()).iter();
        volumes.filter_map(|volume| lenient_string(volume, "name"))
    }

    /// Whether the Pod's containers are always started again, so that its work is never half done.
    /// `Always` is also the default.
    pub(crate) fn restarts_always(&self) -> bool {
        matches!(self.restart_policy, None | Some("" | "Always"))
    }

    /// Whether the Pod asks for Windows: in `spec.os.name` or in its `nodeSelector`.
    pub(crate) fn asks_for_windows(&self) -> bool {
        let selector = self.value.get("nodeSelector");
        let os = |label: &str| lenient_string(selector?, label);
        self.os_name == Some(WINDOWS) || OS_LABELS.map(os).contains(&Some(WINDOWS))
    }

    /// The field because of which many of the Pod's nodes can't mount image volumes: a user
    /// namespace (containerd before 2.1.7 and 2.2.2, containerd#12812) or a runtime class (Kata
    /// Containers, kata-containers#13749, and gVisor, gvisor#14471).
    pub(crate) fn refuses_image_volumes(&self) -> Option<&'static str> {
        if self.host_users == Some(false) {
            return Some("hostUsers: false");
        }
        let has_class = self.runtime_class.is_some_and(|name| !name.is_empty());
        has_class.then_some("runtimeClassName")
    }

    /// Whether `spec.resources` has a request or a limit for the whole Pod (KEP-2837), of cpu,
    /// memory or huge pages. These are the only resources that a Pod can have as a whole.
    /// Source: `IsSupportedPodLevelResource` in `pkg/apis/core/v1/helper/helpers.go`.
    pub(crate) fn has_resources(&self) -> bool {
        let lists = ["requests", "limits"];
        let lists = lists.map(|key| self.value.get("resources")?.get(key)?.as_object());
        let mut names = lists.into_iter().flatten().flat_map(|list| list.keys());
        names.any(|name| matches!(&**name, "cpu" | "memory") || name.starts_with("hugepages-"))
    }
}
