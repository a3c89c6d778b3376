//! What added checks are made of, and their entries in the returned object.

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde::Serialize;
use serde_json::{Value, json};

use super::init_container::fields;
use super::needs::apps;
use super::why_not::WhyNot;
use crate::examination::{Examination, Place};
use crate::pod::List;
use crate::settings::{Coverage, Form};

/// The folder in which this policy mounts check volumes.
pub(super) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// What added checks are made of, and where they stand.
pub(super) struct Made {
    /// The list that gets them.
    pub(super) list: List,
    /// The index of the first of them in this list.
    pub(super) first: usize,
    /// The fields of init containers, without their own names, images and pull policies.
    fields: Box<Container>,
    /// The indexes of the places that mount them, if they are image volumes.
    pub(super) mounted_by: Vec<usize>,
}

impl Made {
    /// What the checks of a Pod are made of.
    ///
    /// # Errors
    /// Why no check is added.
    pub(super) fn of(examination: &Examination<'_>) -> Result<Self, WhyNot> {
        let settings = &examination.settings.image_checks;
        if settings.coverage != Coverage::Fix {
            return Err(WhyNot::NotWanted);
        }
        if examination.spec.asks_for_windows() {
            return Err(WhyNot::Windows);
        }
        match settings.form {
            Form::InitContainer => Self::init_containers(examination),
            Form::ImageVolume => Self::volumes(examination),
        }
    }

    fn init_containers(examination: &Examination<'_>) -> Result<Self, WhyNot> {
        let (fields, first) = fields(examination)?;
        Ok(Self {
            list: List::InitContainers,
            first,
            fields: Box::new(fields),
            mounted_by: Vec::new(),
        })
    }

    fn volumes(examination: &Examination<'_>) -> Result<Self, WhyNot> {
        if let Some(field) = examination.spec.refuses_image_volumes() {
            return Err(WhyNot::NoImageVolumes { beside: field });
        }
        // On the first init container, nothing starts before the volumes are pulled.
        let first_init = examination.first_init().map(|(index, _)| vec![index]);
        let mounted_by = first_init.unwrap_or_else(|| apps(examination).collect());
        if mounted_by.is_empty() {
            return Err(WhyNot::NoCarrier);
        }
        let volumes = examination.spec.entries(List::Volumes);
        Ok(Self {
            list: List::Volumes,
            first: volumes.map_or(0, <[_]>::len),
            fields: Box::default(),
            mounted_by,
        })
    }

    /// The entry of a check.
    ///
    /// `k8s-openapi` has a type for volumes. It knows all kinds of volumes, and so makes the module
    /// larger than its limit (DESIGN.md has the figures).
    pub(super) fn entry(&self, check: &Place<'_>) -> Value {
        let name = check.name.to_string();
        let image = Some(check.image.now.to_string());
        let policy = Some(check.policy.now.as_str().to_owned());
        if self.list == List::Volumes {
            let source = ImageVolumeSource {
                reference: image,
                pull_policy: policy,
            };
            return json!({"name": name, "image": source});
        }
        to_value(Container {
            name,
            image,
            image_pull_policy: policy,
            ..Container::clone(&self.fields)
        })
    }
}

/// The mount of a check that is an image volume.
pub(super) fn mount(check: &Place<'_>) -> Value {
    to_value(VolumeMount {
        name: check.name.to_string(),
        mount_path: [MOUNT_FOLDER, &check.name].concat(),
        read_only: Some(true),
        ..VolumeMount::default()
    })
}

/// An entry as JSON. serde can write every entry that this policy adds.
fn to_value(entry: impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
