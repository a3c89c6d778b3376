//! Reads a container with Kubernetes' own type: a check template, or a check that is copied. This is a
//! package of its own, because Cargo optimises each package for size or for speed. A container has many
//! types, and few requests read one.

// As in `src/lib.rs`: no input may lead to a panic.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects
)]

use k8s_openapi::api::core::v1::Container;
use serde_ignored::Path;
use serde_json::Value;

/// Reads a container.
///
/// # Errors
/// The path of the first field that has another type, or that the type doesn't know, e.g.
/// `volumeMounts[0].name`, and what is wrong. This may show the value.
pub fn read(fields: &Value) -> Result<Container, (String, String)> {
    let mut unknown = None;
    let mut ignore = |path: Path| {
        unknown.get_or_insert_with(|| path_of(&path));
    };
    let source = serde_ignored::Deserializer::new(fields, &mut ignore);
    let container = serde_path_to_error::deserialize(source).map_err(|error| {
        let path = error.path().to_string();
        let path = path.trim_start_matches('.').to_owned();
        (path, error.inner().to_string())
    })?;
    match unknown {
        Some(path) => Err((path, "a container has no such field".to_owned())),
        None => Ok(container),
    }
}

fn path_of(path: &Path) -> String {
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", path_of(parent)),
        Path::Map { parent, key } => match path_of(parent) {
            parent if parent.is_empty() => key.clone(),
            parent => format!("{parent}.{key}"),
        },
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => path_of(parent),
    }
}
