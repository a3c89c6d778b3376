//! Kubernetes' own type for containers: reads one with the path of a wrong value, and names the fields that the type
//! doesn't know.

use k8s_openapi::api::core::v1::Container;
use serde_ignored::Path;
use serde_json::Value;

/// Reads a container. Also returns the paths of the fields that the type doesn't know.
///
/// # Errors
/// A field has a value of another type. The error has its path.
pub(crate) fn read(
    fields: &Value,
) -> Result<(Container, Vec<String>), serde_path_to_error::Error<serde_json::Error>> {
    let mut unknown = Vec::new();
    let mut add = |path: Path<'_>| unknown.push(text(&path));
    let fields = serde_ignored::Deserializer::new(fields, &mut add);
    let container = serde_path_to_error::deserialize(fields)?;
    Ok((container, unknown))
}

/// A path as a text, e.g. `.volumeMounts[0].name`.
fn text(path: &Path<'_>) -> String {
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", text(parent)),
        Path::Map { parent, key } => format!("{}.{key}", text(parent)),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => text(parent),
    }
}

/// Writes a container as JSON. serde can write every container, so the text is never empty.
pub(crate) fn to_json(container: &Container) -> String {
    serde_json::to_string(container).unwrap_or_default()
}
