//! Reads and writes lists and texts in the JSON of a Kubernetes object.

use serde_json::{Value, json};

/// The lists of containers in a Pod spec.
pub const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The lists of a Pod spec whose entries can have images.
pub const LISTS: [&str; 4] = [
    "initContainers",
    "containers",
    "ephemeralContainers",
    "volumes",
];

/// The elements of the list under a key. Without a list, there are none.
#[must_use]
pub fn elements<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The elements of the list under a key, as mutable references. Without a list, there are none.
pub(crate) fn elements_mut<'v>(
    value: &'v mut Value,
    key: &str,
) -> impl Iterator<Item = &'v mut Value> {
    let list = value.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// The list under a key. If there is none, an empty list is written first.
pub(crate) fn list_mut<'v>(value: &'v mut Value, key: &str) -> &'v mut Vec<Value> {
    if !value[key].is_array() {
        value[key] = json!([]);
    }
    match &mut value[key] {
        Value::Array(list) => list,
        _ => unreachable!("it was made one"),
    }
}

/// The elements of several lists, one list after the other.
pub(crate) fn all_of<'v>(
    value: &'v Value,
    keys: &'static [&str],
) -> impl Iterator<Item = &'v Value> + Clone {
    keys.iter().flat_map(|key| elements(value, key))
}

/// Whether the list under a key has an element with this name.
pub(crate) fn has_name(value: &Value, key: &str, name: &Value) -> bool {
    elements(value, key).iter().any(|one| one["name"] == *name)
}

/// The text of a value. Any other value counts as an empty text.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The entries of a list that is written as a text, like the record and the audit annotations.
pub(crate) fn entries_in(list: &Value) -> Option<Vec<Value>> {
    serde_json::from_str(list.as_str()?).ok()
}

/// Writes a value at a path of keys, e.g. `registry.lookup`. Sections that are missing are made.
pub(crate) fn put(value: &mut Value, path: &str, new: Value) {
    let mut at = value;
    for key in path.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[key];
    }
    *at = new;
}
