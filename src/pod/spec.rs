//! The Pod spec: its lists whose entries hold image references, and the parts that belong to no single
//! container.

use k8s_openapi::api::core::v1::VolumeMount;
use serde_json::Value;

use crate::json::{self, InvalidField, lenient_list, lenient_string};

/// A Pod spec. Its values have the right shapes.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'o>(&'o Value);

impl<'o> Spec<'o> {
    /// Reads a Pod spec, apart from its containers and volumes.
    pub fn read(value: &'o Value) -> Result<Self, InvalidField<'o>> {
        json::typed(value, "hostUsers", "a boolean", Value::as_bool)?;
        json::string(value, "runtimeClassName")?;
        if let Some(os) = json::member(value, "os")? {
            json::string(os, "name")?;
        }
        json::string(value, "restartPolicy")?;
        Ok(Self(value))
    }

    /// The number of entries of a list.
    pub fn count(self, list: List) -> usize {
        lenient_list(self.0, list.name()).len()
    }

    pub fn volume_names(self) -> impl Iterator<Item = &'o str> + use<'o> {
        let volumes = lenient_list(self.0, List::Volumes.name()).iter();
        volumes.filter_map(|volume| lenient_string(volume, "name"))
    }

    /// Whether the Pod's containers are always started again, so that its work is never half done.
    /// `Always` is also the default.
    pub fn restarts_always(self) -> bool {
        matches!(
            lenient_string(self.0, "restartPolicy"),
            None | Some("" | "Always")
        )
    }

    /// Whether the Pod asks for Windows: in `spec.os.name` or in its `nodeSelector`.
    pub fn asks_for_windows(self) -> bool {
        let mut paths = [
            "/os/name",
            "/nodeSelector/kubernetes.io~1os",
            "/nodeSelector/beta.kubernetes.io~1os",
        ]
        .into_iter();
        paths.any(|path| self.0.pointer(path).is_some_and(|os| os == "windows"))
    }

    /// The field because of which many of the Pod's nodes can't mount image volumes: a user
    /// namespace (containerd before 2.1.7 and 2.2.2, containerd#12812) or a runtime class (Kata
    /// Containers, kata-containers#13749, and gVisor, gvisor#14471).
    pub fn refuses_image_volumes(self) -> Option<&'static str> {
        if self.0.get("hostUsers") == Some(&Value::Bool(false)) {
            return Some("hostUsers: false");
        }
        let class = lenient_string(self.0, "runtimeClassName");
        class
            .is_some_and(|name| !name.is_empty())
            .then_some("runtimeClassName")
    }

    /// Whether `spec.resources` has a request or a limit for the whole Pod (KEP-2837), of cpu,
    /// memory or huge pages. These are the only resources that a Pod can have as a whole.
    /// Source: `IsSupportedPodLevelResource` in `pkg/apis/core/v1/helper/helpers.go`.
    pub fn has_resources(self) -> bool {
        let lists = ["requests", "limits"];
        let lists = lists.map(|key| self.0.get("resources")?.get(key)?.as_object());
        let mut names = lists.into_iter().flatten().flat_map(|list| list.keys());
        names.any(|name| matches!(&**name, "cpu" | "memory") || name.starts_with("hugepages-"))
    }
}

/// A list of a Pod spec whose entries hold image references. The order is that in which this policy
/// reads them.
///
/// The image of a volume is one level deeper than that of a container.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::EnumIter,
)]
#[strum(serialize_all = "camelCase")]
pub enum List {
    /// `spec.initContainers`
    InitContainers,
    /// `spec.containers`
    Containers,
    /// `spec.ephemeralContainers`
    EphemeralContainers,
    /// `spec.volumes`. Only image volumes (KEP-4639) hold image references.
    Volumes,
}

impl List {
    /// The list's name in the Pod spec.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The object of an entry that has the image and the pull policy. None if the entry has no
    /// image, e.g. a volume of another kind.
    pub fn source(self, entry: &Value) -> Result<Option<&Value>, InvalidField<'_>> {
        match self {
            Self::Volumes => json::member(entry, "image"),
            _ => Ok(Some(entry)),
        }
    }

    /// The key of the image in its object.
    pub const fn image_key(self) -> &'static str {
        match self {
            Self::Volumes => "reference",
            _ => "image",
        }
    }

    /// The key of the pull policy in the same object.
    pub const fn policy_key(self) -> &'static str {
        match self {
            Self::Volumes => "pullPolicy",
            _ => "imagePullPolicy",
        }
    }
}

/// The folder in which this policy mounts check volumes.
pub const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The mount of an added check volume.
pub fn mount(name: &str) -> Value {
    let mount = VolumeMount {
        name: name.to_owned(),
        mount_path: [MOUNT_FOLDER, name].concat(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    // serde can write each mount.
    serde_json::to_value(mount).unwrap_or_default()
}
