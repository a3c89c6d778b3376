//! The edits of the object. They change only the fields that this policy names. Everything else survives with its value.

use serde_json::{Map, Value};

use super::change::Change;
use super::pod_annotations::annotations;
use crate::examination::{Examination, Place};
use crate::pod::List;

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
    /// Writes an annotation.
    Annotate { key: &'static str, value: String },
}

/// The edits of the examined object. `warnings` are the sentences for the annotation of the Pod. The init containers are
/// inserted last, because that moves other entries.
pub(super) fn edits(
    examination: &Examination<'_>,
    changes: &[Change<'_>],
    warnings: &[String],
) -> Vec<Edit> {
    let mut edits = Vec::new();
    // An annotation that an update wrote would be one more change of the Pod.
    if examination.request.creates {
        let annotations = annotations(changes, warnings, &examination.metadata);
        edits.extend(annotations.map(|(key, value)| Edit::Annotate { key, value }));
    }
    if changes.is_empty() {
        return edits;
    }
    let spec = ["/", &examination.request.kind.spec_path().replace('.', "/")].concat();
    let entry = |place: &Place<'_>| format!("{spec}/{}/{}", place.list.name(), place.index());
    for place in examination.places.iter().filter(|place| !place.is_added()) {
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
        if image.changed_by.is_some() {
            edits.push(set(place.list.image_key(), &image.now));
        }
        if policy.changed_by.is_some() {
            edits.push(set(place.list.policy_key(), policy.now.as_str()));
        }
    }
    if let Some(additions) = &examination.additions {
        for container in additions
            .mounting
            .iter()
            .filter_map(|index| examination.places.get(*index))
        {
            let (at, values) = (entry(container), additions.mounts.clone());
            edits.push(Edit::Insert {
                at,
                key: "volumeMounts",
                index: usize::MAX,
                values,
            });
        }
        let (key, values) = (additions.list.name(), additions.entries.clone());
        edits.push(Edit::Insert {
            at: spec,
            key,
            index: additions.first,
            values,
        });
    }
    edits
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
                let list = object
                    .pointer_mut(&at)
                    .and_then(|owner| member_or(owner, key, Value::Array(Vec::new())));
                if let Some(Value::Array(list)) = list {
                    let index = index.min(list.len());
                    list.splice(index..index, values);
                }
            }
            Edit::Annotate { key, value } => {
                let empty = || Value::Object(Map::new());
                let metadata = member_or(object, "metadata", empty());
                let annotations =
                    metadata.and_then(|metadata| member_or(metadata, "annotations", empty()));
                if let Some(Value::Object(annotations)) = annotations {
                    annotations.insert(key.to_owned(), value.into());
                }
            }
        }
    }
}

/// A member. One that is missing or `null` becomes this value.
fn member_or<'v>(owner: &'v mut Value, key: &str, default: Value) -> Option<&'v mut Value> {
    let member = owner.as_object_mut()?.entry(key).or_insert(Value::Null);
    if member.is_null() {
        *member = default;
    }
    Some(member)
}
