//! Reads and writes lists and texts in the JSON of a Kubernetes object.

use k8s_openapi::api::core::v1::Container;
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

/// The paths at which a Pod or a workload can have its Pod spec.
pub const ROOTS: [&str; 4] = [
    "/spec/jobTemplate/spec/template/spec",
    "/spec/template/spec",
    "/template/spec",
    "/spec",
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

/// The element of a list with this name.
pub(crate) fn named<'v>(list: &'v [Value], name: &Value) -> Option<&'v Value> {
    list.iter().find(|one| one["name"] == *name)
}

/// The text of a value. Any other value counts as an empty text.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The entries of a list that is written as a text, like the record and the audit annotations.
pub(crate) fn entries_in(list: &Value) -> Option<Vec<Value>> {
    serde_json::from_str(list.as_str()?).ok()
}

/// The paths of the members of `value` that are missing in `typed`: the same value after a type read and
/// wrote it. A null member counts as not set.
#[must_use]
pub fn unknown_fields(value: &Value, typed: &Value) -> Vec<String> {
    let below = |key: String, value: &Value, typed: &Value| {
        let fields = unknown_fields(value, typed).into_iter();
        fields.map(move |field| format!("{key}{field}"))
    };
    match (value, typed) {
        (Value::Object(members), Value::Object(of_type)) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .flat_map(|(key, member)| match of_type.get(key) {
                Some(typed) => below(format!(".{key}"), member, typed).collect(),
                None => vec![format!(".{key}")],
            })
            .collect(),
        (Value::Array(elements), Value::Array(of_type)) => {
            let pairs = elements.iter().zip(of_type).enumerate();
            pairs
                .flat_map(|(index, (element, typed))| below(format!("[{index}]"), element, typed))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// A container as Kubernetes' type writes it, without null fields. `None` if the container has a field
/// that the type doesn't know. **Decided**: the same holds for a value that the type can't read.
#[must_use]
pub fn as_container(container: &Value) -> Option<Value> {
    let typed: Container = serde_json::from_value(container.clone()).ok()?;
    let mut typed = serde_json::to_value(typed).ok()?;
    // The type writes an empty name if there is none.
    if container.get("name").is_none() {
        typed.as_object_mut()?.remove("name");
    }
    unknown_fields(container, &typed)
        .is_empty()
        .then_some(typed)
}
