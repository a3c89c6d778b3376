//! The image checks that this policy adds to a Pod, and their entries in the returned object.

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde::Serialize;
use serde_json::{Value, json};

use super::place::Place;
use crate::pod::List;

/// The folder in which this policy mounts check volumes.
pub(crate) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The image checks that this policy adds to a Pod.
#[derive(Clone, Debug)]
pub(crate) struct Additions {
    /// What they are made of.
    pub(crate) made: Made,
    /// The index of the first of them in their list.
    pub(crate) first: usize,
    /// How many there are.
    pub(crate) count: usize,
}

/// What added image checks are made of.
#[derive(Clone, Debug)]
pub(crate) enum Made {
    /// They are init containers with these fields, and with their own name, image and pull policy.
    InitContainers(Box<Container>),
    /// They are image volumes. The places with these indexes mount them.
    Volumes(Vec<usize>),
}

impl Additions {
    /// The index, in the returned object, of an entry that has this index in a list of the request.
    pub(crate) fn moved(&self, list: List, index: usize) -> usize {
        let is_moved = list == self.made.list() && index >= self.first;
        index.saturating_add(if is_moved { self.count } else { 0 })
    }
}

impl Made {
    /// The list that gets the checks.
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
        let name = &*check.name;
        let image = Some(check.image.now.to_string());
        let policy = Some(check.policy.now.as_str().to_owned());
        match self {
            Self::InitContainers(fields) => to_value(Container {
                name: name.to_owned(),
                image,
                image_pull_policy: policy,
                ..Container::clone(fields)
            }),
            Self::Volumes(_) => {
                json!({"name": name, "image": ImageVolumeSource { reference: image, pull_policy: policy }})
            }
        }
    }

    /// The places that mount each check, and the mount of a check.
    pub(crate) fn mounts(&self) -> (&[usize], impl Fn(&Place<'_>) -> Value) {
        let mounting = match self {
            Self::InitContainers(_) => &[],
            Self::Volumes(mounting) => &**mounting,
        };
        let mount = |check: &Place<'_>| {
            to_value(VolumeMount {
                name: check.name.to_string(),
                mount_path: [MOUNT_FOLDER, &check.name].concat(),
                read_only: Some(true),
                ..VolumeMount::default()
            })
        };
        (mounting, mount)
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
        let (mounting, mount) = self.mounts();
        let mounts = mounting.len().saturating_mul(mount(check).to_string().len());
        Self::Volumes(Vec::new()).entry(check).to_string().len().saturating_add(mounts)
    }
}

/// An entry as JSON. serde can write every entry that this policy adds.
fn to_value(entry: impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
