//! Values of Kubernetes objects, read leniently: what has another shape than expected counts as
//! missing. This policy itself tells its author about wrong shapes. Paths are JSON Pointers
//! (RFC 6901).

use serde::Serialize;
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;

/// The text at a path. Empty if there is none.
pub(crate) fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// The elements of the list at a path.
pub(crate) fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    let list = value.pointer(path).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The members of the object at a path.
pub(crate) fn members<'v>(
    value: &'v Value,
    path: &str,
) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    let object = value.pointer(path).and_then(Value::as_object);
    object.into_iter().flatten()
}

/// The word of a variant, as it is in JSON.
pub fn word(variant: impl Serialize) -> String {
    let value = serde_json::to_value(variant).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The documents of a text in YAML, without empty ones, as kubectl reads them: `no` is false.
///
/// # Errors
/// The text is no YAML. The error names the line, and shows none of its words, which can be secret.
pub(crate) fn documents(text: &[u8]) -> Result<Vec<Value>, String> {
    let options = serde_saphyr::options! {
        budget: None,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    serde_saphyr::from_slice_multiple_with_options(text, options)
        .map_err(|error| error.render_with_formatter(&UserMessageFormatter))
}

/// Reads a YAML document. An empty one is null.
///
/// # Errors
/// As for [`documents`].
pub fn from_yaml(text: &str) -> Result<Value, String> {
    let documents = documents(text.as_bytes())?;
    Ok(documents.into_iter().next().unwrap_or_default())
}

/// A value as YAML.
pub fn to_yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_default()
}
