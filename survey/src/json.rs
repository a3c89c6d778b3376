//! Values of Kubernetes objects, read leniently: what has another shape than expected counts as
//! missing. This policy itself tells its author about wrong shapes.

use serde_json::{Map, Value};
use serde_saphyr::UserMessageFormatter;

use crate::prune::{Kept, Unpruned};

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

/// The documents of a text in YAML, without empty ones, as kubectl reads them: `no` is false.
///
/// # Errors
/// The text is no YAML. The error names the line, and shows none of its words, which can be secret.
pub(crate) fn documents<T: Kept>(text: &[u8]) -> Result<Vec<Value>, String> {
    let options = serde_saphyr::options! {
        budget: None,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let documents = serde_saphyr::from_slice_multiple_with_options::<T>(text, options);
    documents
        .map(|documents| documents.into_iter().map(Into::into).collect())
        .map_err(|error| error.render_with_formatter(&UserMessageFormatter))
}

/// Reads a YAML document. An empty one is null.
///
/// # Errors
/// As for [`documents`].
pub fn from_yaml(text: &str) -> Result<Value, String> {
    documents::<Unpruned>(text.as_bytes())
        .map(|documents| documents.into_iter().next().unwrap_or_default())
}

/// A value as YAML.
pub fn to_yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_default()
}
