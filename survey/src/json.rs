//! Values of Kubernetes objects, read leniently: what has another shape than expected counts as
//! missing. This policy itself tells its author about wrong shapes.

use serde_json::{Map, Value};

/// The value at a path of keys.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The text at a path of keys. Empty if there is none.
pub(crate) fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of the list at a path of keys.
pub(crate) fn list<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The members of the object at a path of keys.
pub(crate) fn members<'v>(
    value: &'v Value,
    path: &[&str],
) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    at(value, path)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The object at a path of keys, which is made if it is missing.
pub(crate) fn object_mut<'v>(
    value: &'v mut Value,
    path: &[&str],
) -> Option<&'v mut Map<String, Value>> {
    let mut value = value;
    for key in path {
        let members = value.as_object_mut()?;
        value = members
            .entry(*key)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    value.as_object_mut()
}

/// Reads a YAML document. An empty one is null.
///
/// # Errors
/// The text is no YAML. The error names the line.
pub fn from_yaml(text: &str) -> Result<Value, String> {
    yaml_serde::from_str(text).map_err(|error| error.to_string())
}

/// A value as YAML.
pub fn to_yaml(value: &Value) -> String {
    yaml_serde::to_string(value).unwrap_or_default()
}
