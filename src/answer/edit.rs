//! The edits of the object. They change only the fields that this policy names. Everything else survives with its value.

use k8s_openapi::api::core::v1::{Container, ImageVolumeSource, VolumeMount};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::change::Change;
use super::record::record;
use crate::examination::{Additions, Examination, MOUNT_FOLDER, Place};
use crate::pod::List;
use crate::request::CHANGES_ANNOTATION;

/// An edit of an object. `at` is the JSON pointer of the object that has the member `key`.
pub(crate) enum Edit {
    /// Sets a member.
    Set {
        at: String,
        key: &'static str,
        value: Value,
    },
    /// Inserts these values into a list, at this index or else at its end. The list may be missing.
    Insert {
        at: String,
        key: &'static str,
        index: usize,
        values: Vec<Value>,
    },
    /// Writes the record.
    Record(String),
}

/// The edits of the examined object. The init containers are inserted last, because that moves other entries.
pub(super) fn edits(examination: &Examination<'_>, changes: &[Change<'_>]) -> Vec<Edit> {
    let spec = ["/", &examination.request.kind.spec_path().replace('.', "/")].concat();
    let entry = |place: &Place<'_>| format!("{spec}/{}/{}", place.list.name(), place.index);
    let mut edits = Vec::new();
    for place in examination.places.iter().filter(|place| !place.is_added) {
        let source = if place.list == List::Volumes {
            "/image"
        } else {
            ""
        };
        let set = |key, value: &str| Edit::Set {
            at: [&entry(place), source].concat(),
            key,
            value: value.into(),
        };
        let (image, policy) = (&place.image, &place.policy);
        edits.extend(
            image
                .why
                .is_some()
                .then(|| set(place.list.image_key(), &image.now)),
        );
        edits.extend(
            policy
                .why
                .is_some()
                .then(|| set(place.list.policy_key(), policy.now.as_str())),
        );
    }
    edits.extend(record(changes, &examination.metadata).map(Edit::Record));
    let added = || examination.places.iter().filter(|place| place.is_added);
    match &examination.additions {
        None => {}
        Some(Additions::Volumes { carriers }) => {
            let key = "volumeMounts";
            for carrier in carriers
                .iter()
                .filter_map(|index| examination.places.get(*index))
            {
                let values = added().map(|check| to_value(mount(check))).collect();
                edits.push(Edit::Insert {
                    at: entry(carrier),
                    key,
                    index: usize::MAX,
                    values,
                });
            }
            let (key, values) = (
                List::Volumes.name(),
                added().map(|check| volume(check)).collect(),
            );
            edits.push(Edit::Insert {
                at: spec,
                key,
                index: usize::MAX,
                values,
            });
        }
        Some(Additions::InitContainers { fields, index, .. }) => {
            let values = added()
                .map(|check| to_value(container(check, fields)))
                .collect();
            edits.push(Edit::Insert {
                at: spec,
                key: List::InitContainers.name(),
                index: *index,
                values,
            });
        }
    }
    edits
}

fn container(check: &Place<'_>, fields: &Container) -> Container {
    Container {
        name: check.name.to_string(),
        image: Some(check.image.now.to_string()),
        image_pull_policy: Some(check.policy.now.as_str().to_owned()),
        ..fields.clone()
    }
}

/// The volume. `k8s-openapi` has a type for it, which knows all kinds of volumes and so makes the module larger than its
/// limit (DESIGN.md has the figures).
fn volume(check: &Place<'_>) -> Value {
    let image = ImageVolumeSource {
        reference: Some(check.image.now.to_string()),
        pull_policy: Some(check.policy.now.as_str().to_owned()),
    };
    json!({"name": check.name, "image": image})
}

fn mount(check: &Place<'_>) -> VolumeMount {
    VolumeMount {
        name: check.name.to_string(),
        mount_path: [MOUNT_FOLDER, &check.name].concat(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}

/// An entry as JSON. serde can write every entry that this policy adds.
fn to_value(entry: impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}

/// Applies the edits in their order.
pub(crate) fn apply(object: &mut Value, edits: Vec<Edit>) {
    for edit in edits {
        match edit {
            Edit::Set { at, key, value } => {
                if let Some(members) = object.pointer_mut(&at).and_then(Value::as_object_mut) {
                    members.insert(key.to_owned(), value);
                }
            }
            Edit::Insert {
                at,
                key,
                index,
                values,
            } => {
                if let Some(list) = object
                    .pointer_mut(&at)
                    .and_then(|owner| list_at(owner, key))
                {
                    let index = index.min(list.len());
                    list.splice(index..index, values);
                }
            }
            Edit::Record(record) => {
                let annotations = object_at(object, "metadata")
                    .and_then(|metadata| object_at(metadata, "annotations"));
                if let Some(Value::Object(annotations)) = annotations {
                    annotations.insert(CHANGES_ANNOTATION.to_owned(), record.into());
                }
            }
        }
    }
}

/// A member that is a list. One that is missing or `null` is made.
fn list_at<'v>(owner: &'v mut Value, key: &str) -> Option<&'v mut Vec<Value>> {
    let member = owner.as_object_mut()?.entry(key).or_insert(Value::Null);
    if member.is_null() {
        *member = Value::Array(Vec::new());
    }
    member.as_array_mut()
}

/// A member that is an object. One that is missing or `null` is made.
fn object_at<'v>(owner: &'v mut Value, key: &str) -> Option<&'v mut Value> {
    let member = owner.as_object_mut()?.entry(key).or_insert(Value::Null);
    if member.is_null() {
        *member = Value::Object(Map::new());
    }
    Some(member)
}
