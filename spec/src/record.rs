//! The record: the annotation of a repaired object that lists the changes of this policy.

use serde_json::Value;

use crate::json::entries_in;

/// The key of the record, an annotation of a repaired object.
pub const RECORD: &str = "consistent-pull-policy/changes";

/// Returns the entries of an object's record. `None` if there is no record, or if it is no list.
pub(crate) fn entries(object: &Value) -> Option<Vec<Value>> {
    entries_in(&object["metadata"]["annotations"][RECORD])
}

/// Returns the entries of a request's record, which stay behind the new ones. There are none if the record is
/// not a list of objects, or if a `more` is no count (of 32 bits).
pub(crate) fn earlier_entries(object: &Value) -> Vec<Value> {
    let stays = |entry: &Value| {
        let more = &entry["more"];
        let is_count = more
            .as_u64()
            .is_some_and(|more| u32::try_from(more).is_ok());
        entry.is_object() && (more.is_null() || is_count)
    };
    let entries = entries(object).filter(|entries| entries.iter().all(stays));
    entries.unwrap_or_default()
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
