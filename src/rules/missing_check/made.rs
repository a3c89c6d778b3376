//! What added checks are made of, and their entries in the returned object.

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde::Serialize;
use serde_json::{Value, json};

use super::coverage::apps;
use super::init_container::fields;
use super::why_not::WhyNot;
use crate::examination::{Examination, Place, Start};
use crate::pod::List;
use crate::settings::{Coverage, Form};

/// The folder in which this policy mounts check volumes.
pub(super) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// What added checks are made of.
pub(super) enum Made {
    /// They are init containers with these fields, and with their own name, image and pull policy.
    InitContainers {
        /// The index of the first of them.
        first: usize,
        fields: Box<Container>,
    },
    /// They are image volumes.
    Volumes {
        /// The index of the first of them.
        first: usize,
        /// The indexes of the places that mount them.
        mounted_by: Vec<usize>,
        start: Start,
    },
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
        if settings.form == Form::InitContainer {
            let (fields, first) = fields(examination)?;
            let fields = Box::new(fields);
            return Ok(Self::InitContainers { first, fields });
        }
        if let Some(field) = examination.spec.refuses_image_volumes() {
            return Err(WhyNot::NoImageVolumes { beside: field });
        }
        let volumes = examination.spec.entries(List::Volumes);
        let first = volumes.map_or(0, <[_]>::len);
        // On the first init container, nothing starts before the volumes are pulled.
        let (mounted_by, start) = if let Some((index, place)) = examination.first_init() {
            (vec![index], Start::VolumeOfInit(place.index()))
        } else {
            let is_on_every_app = true;
            (
                apps(examination).collect(),
                Start::VolumeOfApps { is_on_every_app },
            )
        };
        if mounted_by.is_empty() {
            return Err(WhyNot::NoCarrier);
        }
        Ok(Self::Volumes {
            first,
            mounted_by,
            start,
        })
    }

    /// The list that gets the checks, the index of the first of them, and the indexes of the places that
    /// mount them.
    pub(super) fn position(&self) -> (List, usize, &[usize]) {
        match self {
            Self::InitContainers { first, .. } => (List::InitContainers, *first, &[]),
            Self::Volumes {
                first, mounted_by, ..
            } => (List::Volumes, *first, mounted_by),
        }
    }

    /// When checks are pulled that stand at this index of their list.
    pub(super) const fn start(&self, index: usize) -> Start {
        match self {
            // Only app containers need such a check, and they start after every init container.
            Self::InitContainers { .. } => Start::Init(index),
            Self::Volumes { start, .. } => *start,
        }
    }

    /// The entry of a check.
    ///
    /// `k8s-openapi` has a type for volumes. It knows all kinds of volumes, and so makes the module larger
    /// than its limit (DESIGN.md has the figures).
    pub(super) fn entry(&self, check: &Place<'_>) -> Value {
        let name = check.name.to_string();
        let image = Some(check.image.now.to_string());
        let policy = Some(check.policy.now.as_str().to_owned());
        match self {
            Self::InitContainers { fields, .. } => to_value(Container {
                name,
                image,
                image_pull_policy: policy,
                ..Container::clone(fields)
            }),
            Self::Volumes { .. } => {
                let source = ImageVolumeSource {
                    reference: image,
                    pull_policy: policy,
                };
                json!({"name": name, "image": source})
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
