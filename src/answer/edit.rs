//! The edits of the object. They touch only images, pull policies, this policy's annotations, and
//! added checks with their mounts.

use serde_json::{Map, Value};

use super::change::Change;
use super::pod_annotations::annotations;
use crate::examination::{Additions, Entry, Examination};

/// An edit of an object. `at` is the path of the object that has the member `key`.
pub(crate) enum Edit {
    /// Sets a member.
    Set {
        at: String,
        key: &'static str,
        value: Value,
    },
    /// Inserts these values into a list, at this index, or at the end of a shorter list. The list
    /// may be missing.
    Insert {
        at: String,
        key: &'static str,
        index: usize,
        values: Vec<Value>,
    },
}

/// The edits of the examined object. `warnings` are the sentences for the annotation of the Pod.
/// Added checks are inserted last: this moves entries, and the other edits use the request's
/// indexes.
pub(super) fn edits(
    examination: &Examination<'_>,
    changes: &[Change<'_>],
    warnings: &[String],
) -> Vec<Edit> {
    let mut edits = Vec::new();
    // At UPDATE none is written, because it would be one more change of the Pod.
    if examination.request.creates {
        for (key, annotation) in annotations(changes, warnings, &examination.metadata) {
            let (at, value) = ("metadata/annotations".to_owned(), annotation.into());
            edits.push(Edit::Set { at, key, value });
        }
    }
    // Only Pods are changed, so the Pod spec is at `spec`.
    let at = |entry: &Entry<'_>| format!("spec/{}/{}", entry.list.name(), entry.index);
    for place in examination.places.iter().filter(|place| place.is_changed()) {
        let (entry, list) = (at(&place.entry), place.entry.list);
        let source = list.source_key().map(|key| [&entry, "/", key].concat());
        let at = source.unwrap_or(entry);
        if place.image.changed_by.is_some() {
            let (at, key, value) = (at.clone(), list.image_key(), (*place.image.now).into());
            edits.push(Edit::Set { at, key, value });
        }
        if place.policy.changed_by.is_some() {
            let (key, value) = (list.policy_key(), place.policy.now.as_str().into());
            edits.push(Edit::Set { at, key, value });
        }
    }
    if let Some(Additions {
        list,
        first,
        entries,
        mounted_by,
        mounts,
        ..
    }) = &examination.additions
    {
        for (_, container) in examination.at(mounted_by) {
            edits.push(Edit::Insert {
                at: at(&container.entry),
                key: "volumeMounts",
                index: usize::MAX,
                values: mounts.clone(),
            });
        }
        edits.push(Edit::Insert {
            at: "spec".to_owned(),
            key: list.name(),
            index: *first,
            values: entries.clone(),
        });
    }
    edits
}

/// Applies the edits in their order.
pub(crate) fn apply(object: &mut Value, edits: Vec<Edit>) {
    for edit in edits {
        let (Edit::Set { at, .. } | Edit::Insert { at, .. }) = &edit;
        let Some(owner) = object_at(object, at) else {
            continue;
        };
        match edit {
            Edit::Set { key, value, .. } => {
                owner.insert(key.to_owned(), value);
            }
            Edit::Insert {
                key, index, values, ..
            } => {
                let list = owner.entry(key).or_insert(Value::Null);
                if list.is_null() {
                    *list = Value::Array(Vec::new());
                }
                if let Value::Array(list) = list {
                    let index = index.min(list.len());
                    list.splice(index..index, values);
                }
            }
        }
    }
}

/// The object at a path. Missing objects on the path are made.
fn object_at<'v>(object: &'v mut Value, path: &str) -> Option<&'v mut Map<String, Value>> {
    let mut value = object;
    for step in path.split('/') {
        value = match value {
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?)?,
            Value::Object(members) => members.entry(step).or_insert(Value::Null),
            _ => return None,
        };
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
    }
    value.as_object_mut()
}
