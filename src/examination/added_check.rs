//! The image checks that a Pod gets.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::finding::Finding;
use crate::kubernetes_container_json;
use crate::pod_spec::Place;
use crate::pull_policy::PullPolicy;

/// The folder in which this policy mounts check volumes.
pub(crate) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The image checks that are added to a Pod.
#[derive(Default)]
pub(crate) struct AddedChecks<'p> {
    /// The checks, all of one form.
    pub(crate) checks: Vec<AddedCheck<'p>>,
    /// The init container directly before the added ones. None if the added ones come first.
    pub(crate) predecessor: Option<&'p Place<'p>>,
    /// The containers that mount each added volume.
    pub(crate) carriers: Vec<&'p Place<'p>>,
}

/// An image check that is added.
pub(crate) struct AddedCheck<'p> {
    /// The name, the image and the pull policy.
    pub(crate) own_fields: AddedCheckOwnFields,
    /// Its form.
    pub(crate) form: AddedCheckForm,
    /// The index of the examined place that needs it most.
    pub(crate) guarded: usize,
    /// The finding that it repairs.
    pub(crate) finding: Finding<'p>,
}

/// The form of the checks that a Pod gets.
#[derive(Clone)]
pub(crate) enum AddedCheckForm {
    /// An init container with these fields, and with its own name, image and pull policy.
    InitContainer(Rc<Container>),
    /// An image volume.
    ImageVolume,
}

/// What differs between the checks that a Pod gets.
pub(crate) struct AddedCheckOwnFields {
    /// The name. No other container has this name. If the check is a volume, no other volume has it.
    pub(crate) name: String,
    /// The image, written like the image of the place that the check guards.
    pub(crate) image: String,
    /// The pull policy.
    pub(crate) policy: PullPolicy,
}

impl AddedCheckOwnFields {
    /// The init container with these fields.
    fn container(&self, fields: Container) -> Container {
        Container {
            name: self.name.clone(),
            image: Some(self.image.clone()),
            image_pull_policy: Some(self.policy.as_str().to_owned()),
            ..fields
        }
    }

    /// The volume. The type `Volume` of `k8s-openapi` knows all kinds of volumes, and through volume claims also
    /// calendars: the module would be larger than its limit (DESIGN.md has the figures).
    fn volume(&self) -> Value {
        let image = ImageVolumeSource {
            reference: Some(self.image.clone()),
            pull_policy: Some(self.policy.as_str().to_owned()),
        };
        json!({"name": self.name, "image": image})
    }

    /// The mount of the check, if the check is a volume.
    pub(crate) fn mount(&self) -> VolumeMount {
        VolumeMount {
            name: self.name.clone(),
            mount_path: [MOUNT_FOLDER, &self.name].concat(),
            read_only: Some(true),
            ..VolumeMount::default()
        }
    }
}

impl AddedCheckForm {
    /// Whether the checks are image volumes, and not init containers.
    pub(crate) const fn is_image_volume(&self) -> bool {
        matches!(self, Self::ImageVolume)
    }

    /// A check of this form as JSON, as it is written into the Pod.
    pub(crate) fn element(&self, check: &AddedCheckOwnFields) -> String {
        match self {
            Self::InitContainer(fields) => {
                kubernetes_container_json::to_json(&check.container((**fields).clone()))
            }
            Self::ImageVolume => check.volume().to_string(),
        }
    }

    /// A check of this form, as the record shows it: of an init container, only name, image and pull policy. serde can
    /// write every check, so there is always a summary.
    pub(crate) fn summary(&self, check: &AddedCheckOwnFields) -> Option<Box<RawValue>> {
        let summary = match self {
            Self::InitContainer(_) => to_raw_value(&check.container(Container::default())),
            Self::ImageVolume => to_raw_value(&check.volume()),
        };
        summary.ok()
    }
}
