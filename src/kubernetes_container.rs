//! Kubernetes' own type for containers: reads one with the path of a wrong value, and names the fields that the type
//! doesn't know.

use k8s_openapi::api::core::v1::Container;
use serde_json::Value;

/// Reads a container. Fields that the type doesn't know are left out.
///
/// # Errors
/// A field has a value of another type. The error has its path.
pub(crate) fn read(
    container: &Value,
) -> Result<Container, serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize(container)
}

/// Writes a container as JSON. serde can write every container, so the text is never empty.
pub(crate) fn to_json(container: &Container) -> String {
    serde_json::to_string(container).unwrap_or_default()
}

/// The paths of the fields of `given` that the type doesn't know. `container` was read from `given`.
pub(crate) fn unknown_fields(given: &Value, container: &Container) -> Vec<String> {
    let mut unknown = Vec::new();
    let known = serde_json::to_value(container).unwrap_or_default();
    add_unknown_fields(given, &known, "", &mut unknown);
    unknown
}

fn add_unknown_fields(given: &Value, known: &Value, path: &str, unknown: &mut Vec<String>) {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let path = [path, ".", key].concat();
                match known.get(key) {
                    Some(known) => add_unknown_fields(value, known, &path, unknown),
                    None => unknown.push(path),
                }
            }
        }
        (Value::Array(given), Value::Array(known)) => {
            for (index, (given, known)) in given.iter().zip(known).enumerate() {
                add_unknown_fields(given, known, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}
