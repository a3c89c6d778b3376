//! A policy's metadata: JSON in a custom section of an annotated module.

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use wasm_encoder::{CustomSection, Section as _};
use wasmparser::{Parser, Payload};

/// A policy's metadata, with the keys of `metadata.yml`.
pub type Metadata = Map<String, Value>;

/// The custom section that holds the metadata.
const SECTION: &str = "io.kubewarden.metadata";

/// The metadata of an annotated module. `None` if the module isn't annotated.
///
/// # Errors
/// If the bytes are no module, or if the metadata can't be read.
pub fn read(module: &[u8]) -> Result<Option<Metadata>> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload.context("not a WebAssembly module")?
            && section.name() == SECTION
        {
            let metadata = serde_json::from_slice(section.data());
            return metadata.with_context(|| format!("cannot read the custom section {SECTION}"));
        }
    }
    Ok(None)
}

/// The module with this metadata behind its other sections.
///
/// # Errors
/// If the metadata can't be written as JSON.
pub fn appended(module: &[u8], metadata: &Metadata) -> Result<Vec<u8>> {
    let json = serde_json::to_vec(metadata)?;
    let section = CustomSection {
        name: SECTION.into(),
        data: json.into(),
    };
    let mut module = module.to_vec();
    section.append_to(&mut module);
    Ok(module)
}
