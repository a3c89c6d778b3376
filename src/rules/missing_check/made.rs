//! What added checks are made of, and their entries in the returned object.

use k8s_openapi::api::core::v1::VolumeMount;
use serde::Serialize;
use serde_json::{Map, Value};

use super::init_container::fields;
use super::needs::apps;
use super::why_not::WhyNot;
use crate::examination::{Check, Examination};
use crate::pod::List;
use crate::settings::{Form, OnMissing};

/// The folder in which this policy mounts check volumes.
pub(super) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// What added checks are made of, and where they stand.
pub(super) struct Made {
    /// The list that gets them.
    pub(super) list: List,
    /// The index of the first of them in this list.
    pub(super) first: usize,
    /// The fields of init containers, without their own names, images and pull policies.
    fields: Map<String, Value>,
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
        if settings.on_missing != OnMissing::Add {
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
            fields: match to_value(fields) {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
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
            fields: Map::new(),
            mounted_by,
        })
    }

    /// The entry of a check.
    pub(super) fn entry(&self, check: &Check) -> Value {
        let policy = check.policy.as_str();
        let mut entry = self.fields.clone();
        entry.extend(self.list.entry(&check.name, &check.image, policy));
        entry.into()
    }
}

/// The mount of a check that is an image volume.
pub(super) fn mount(check: &Check) -> Value {
    to_value(VolumeMount {
        name: check.name.clone(),
        mount_path: [MOUNT_FOLDER, &check.name].concat(),
        read_only: Some(true),
        ..VolumeMount::default()
    })
}

/// An entry as JSON. serde can write every entry that this policy adds.
fn to_value(entry: impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
