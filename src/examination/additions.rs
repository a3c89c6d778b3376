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
    pub(crate) fn entry(&self, check: &Place<'_>) -> Value {
        match self {
            Self::InitContainers(fields) => to_value(Container {
                name: check.name.to_string(),
                image: Some(check.image.now.to_string()),
                image_pull_policy: Some(check.policy.now.as_str().to_owned()),
                ..Container::clone(fields)
            }),
            Self::Volumes(_) => summary(check),
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

    /// The size of the fields that all checks have in common, in bytes of JSON.
    pub(crate) fn size_of_fields(&self) -> usize {
        match self {
            Self::InitContainers(fields) => to_value(fields).to_string().len(),
            Self::Volumes(_) => 0,
        }
    }

    /// The size of a check with its mounts, without these fields.
    pub(crate) fn size_of_rest(&self, check: &Place<'_>) -> usize {
        let (carriers, mount) = self.mounts();
        let mounts = carriers.len().saturating_mul(mount(check).to_string().len());
        summary(check).to_string().len().saturating_add(mounts)
    }
}

/// The name, the image and the pull policy of a check.
///
/// `k8s-openapi` has a type for volumes. It knows all kinds of volumes, and so makes the module larger than its limit
/// (DESIGN.md has the figures).
pub(crate) fn summary(check: &Place<'_>) -> Value {
    let (name, image, policy) = (&check.name, &check.image.now, check.policy.now.as_str());
    match check.list {
        List::Volumes => {
            let (reference, pull_policy) = (Some(image.to_string()), Some(policy.to_owned()));
            json!({"name": name, "image": ImageVolumeSource { reference, pull_policy }})
        }
        _ => json!({"name": name, "image": image, "imagePullPolicy": policy}),
    }
}

/// An entry as JSON. serde can write every entry that this policy adds.
fn to_value(entry: impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
