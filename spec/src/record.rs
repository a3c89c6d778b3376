//! The record: the annotation of a repaired object that lists the changes of this policy.

use serde_json::Value;

use crate::json::entries_in;

/// The key of the record, an annotation of a repaired object.
pub const RECORD: &str = "consistent-pull-policy/changes";

/// Returns the entries of an object's record. `None` if there is no record, or if it is no list of objects.
pub(crate) fn entries(object: &Value) -> Option<Vec<Value>> {
    let entries = entries_in(&object["metadata"]["annotations"][RECORD]);
    entries.filter(|entries| entries.iter().all(Value::is_object))
}

/// Returns an object without its record. `annotations` and `metadata` are left out if nothing else is in
/// them, because writing a record may have created them.
pub(crate) fn without_record(object: &Value) -> Value {
    let mut object = object.clone();
    for (pointer, key) in [
        ("/metadata/annotations", RECORD),
        ("/metadata", "annotations"),
        ("", "metadata"),
    ] {
        let members = object.pointer_mut(pointer).and_then(Value::as_object_mut);
        if let Some(members) = members {
            let is_empty = |value: &Value| {
                value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
            };
            if key == RECORD || members.get(key).is_some_and(is_empty) {
                members.remove(key);
            }
        }
    }
    object
}
