//! The entries that added checks are in the returned object.

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde::Serialize;
use serde_json::{Value, json};

use super::place::Place;
use crate::pod::List;

/// The folder in which this policy mounts check volumes.
pub(crate) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// What the added checks of a Pod have in common.
#[derive(Clone, Debug)]
pub(crate) enum Additions {
    /// They are init containers with these fields, and with their own name, image and pull policy.
    InitContainers(Box<Container>),
    /// They are image volumes that these places mount.
    Volumes(Vec<usize>),
}

impl Additions {
    /// The list that gets them.
    pub(crate) const fn list(&self) -> List {
        match self {
            Self::InitContainers(_) => List::InitContainers,
            Self::Volumes(_) => List::Volumes,
        }
    }

    /// The entry of a check.
    ///
    /// `k8s-openapi` has a type for volumes. It knows all kinds of volumes, and so makes the module larger than its limit
    /// (DESIGN.md has the figures).
    pub(crate) fn entry(&self, check: &Place<'_>) -> Value {
        let name = check.name.to_string();
        let image = Some(check.image.now.to_string());
        let policy = Some(check.policy.now.as_str().to_owned());
        match self {
            Self::InitContainers(fields) => {
                let fields = Container::clone(fields);
                to_value(Container {
                    name,
                    image,
                    image_pull_policy: policy,
                    ..fields
                })
            }
            Self::Volumes(_) => {
                let image = ImageVolumeSource {
                    reference: image,
                    pull_policy: policy,
                };
                json!({"name": name, "image": image})
            }
        }
    }

    /// The places that mount each check, and the mount of a check.
    pub(crate) fn mounts(&self) -> (&[usize], impl Fn(&Place<'_>) -> Value) {
        let carriers = match self {
            Self::InitContainers(_) => &[],
            Self::Volumes(carriers) => &**carriers,
        };
        let mount = |check: &Place<'_>| {
            to_value(VolumeMount {
                name: check.name.to_string(),
                mount_path: [MOUNT_FOLDER, &check.name].concat(),
                read_only: Some(true),
                ..VolumeMount::default()
            })
        };
        (carriers, mount)
    }

    /// The size of a check with its mounts, in bytes of JSON.
    pub(crate) fn size_of(&self, check: &Place<'_>) -> usize {
        let (carriers, mount) = self.mounts();
        let mounts = carriers
            .len()
            .saturating_mul(mount(check).to_string().len());
        self.entry(check).to_string().len().saturating_add(mounts)
    }
}

/// An entry as JSON. serde can write every entry that this policy adds.
fn to_value(entry: impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
