//! What added checks are made of, and their entries in the returned object.

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde::Serialize;
use serde_json::{Value, json};

use super::apps;
use super::fields::fields;
use super::why_not::WhyNot;
use crate::examination::{Examination, Place};
use crate::pod::List;
use crate::settings::{Coverage, Form};

/// The folder in which this policy mounts check volumes.
pub(super) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// What added checks are made of.
pub(super) enum Made {
    /// They are init containers with these fields, and with their own name, image and pull policy.
    InitContainers(Box<Container>),
    /// They are image volumes. The places with these indexes mount them.
    Volumes(Vec<usize>),
}

impl Made {
    /// What the checks of a Pod are made of, and the index of the first of them in its list.
    ///
    /// # Errors
    /// Why no check is added.
    pub(super) fn of(examination: &Examination<'_>) -> Result<(Self, usize), WhyNot> {
        let checks = &examination.settings.image_checks;
        if checks.coverage != Coverage::Fix {
            return Err(WhyNot::NotWanted);
        }
        if examination.spec.nodes().run_windows() {
            return Err(WhyNot::Windows);
        }
        if checks.form == Form::InitContainer {
            let (fields, first) = fields(examination)?;
            return Ok((Self::InitContainers(Box::new(fields)), first));
        }
        if let Some(field) = examination.spec.refuses_image_volumes() {
            return Err(WhyNot::NoImageVolumes { beside: field });
        }
        // On the first init container, nothing starts before the volumes are pulled.
        let first_init = examination.first_init.map(|first_init| vec![first_init]);
        let mounting = first_init.unwrap_or_else(|| apps(examination).collect());
        let first = examination.spec.list(List::Volumes).map_or(0, <[_]>::len);
        if mounting.is_empty() {
            Err(WhyNot::NoCarrier)
        } else {
            Ok((Self::Volumes(mounting), first))
        }
    }

    /// The entry of a check.
    ///
    /// `k8s-openapi` has a type for volumes. It knows all kinds of volumes, and so makes the module larger than its limit
    /// (DESIGN.md has the figures).
    pub(super) fn entry(&self, check: &Place<'_>) -> Value {
        let name = check.name.to_string();
        let image = Some(check.image.now.to_string());
        let policy = Some(check.policy.now.as_str().to_owned());
        match self {
            Self::InitContainers(fields) => to_value(Container {
                name,
                image,
                image_pull_policy: policy,
                ..Container::clone(fields)
            }),
            Self::Volumes(_) => {
                json!({"name": name, "image": ImageVolumeSource { reference: image, pull_policy: policy }})
            }
        }
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
