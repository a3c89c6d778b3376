//! The lists of a Pod spec whose entries hold image references.

use serde_json::{Value, json};

use crate::image::PullPolicy;
use crate::json::{InvalidField, member};

/// A list of a Pod spec whose entries hold image references. The order is that in which this policy
/// reads them.
///
/// Only this file knows that the image of a volume is one level deeper than that of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
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
    /// All lists, in their order.
    pub(crate) const ALL: [Self; 4] = [
        Self::InitContainers,
        Self::Containers,
        Self::EphemeralContainers,
        Self::Volumes,
    ];

    /// The list's name in the Pod spec.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InitContainers => "initContainers",
            Self::Containers => "containers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }

    /// The object of an entry that has the image and the pull policy. None if the entry has no
    /// image, e.g. a volume of another kind.
    ///
    /// # Errors
    /// The entry is no object.
    pub(crate) fn source(self, entry: &Value) -> Result<Option<&Value>, InvalidField<'_>> {
        match self {
            Self::Volumes => member(entry, "image"),
            _ => Ok(Some(entry)),
        }
    }

    /// The key of the image in its object.
    pub(crate) const fn image_key(self) -> &'static str {
        match self {
            Self::Volumes => "reference",
            _ => "image",
        }
    }

    /// The key of the pull policy in the same object.
    pub(crate) const fn policy_key(self) -> &'static str {
        match self {
            Self::Volumes => "pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// The path from an entry to the object that has the image, with a dot behind it.
    pub(crate) const fn source_path(self) -> &'static str {
        match self {
            Self::Volumes => "image.",
            _ => "",
        }
    }

    /// A new entry: its name, its image and its pull policy.
    pub(crate) fn entry(self, name: &str, image: &str, policy: PullPolicy) -> Value {
        let policy = policy.as_str();
        match self {
            Self::Volumes => {
                json!({"name": name, "image": {"reference": image, "pullPolicy": policy}})
            }
            _ => json!({"name": name, "image": image, "imagePullPolicy": policy}),
        }
    }
}
