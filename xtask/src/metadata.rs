//! A policy's metadata: JSON in a custom section of an annotated module.

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use wasm_encoder::{CustomSection, RawSection};
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

/// The module with this metadata in place of its own.
///
/// # Errors
/// If the bytes are no module, or if the metadata can't be written as JSON.
pub fn replaced(module: &[u8], metadata: &Metadata) -> Result<Vec<u8>> {
    let mut replaced = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.context("not a WebAssembly module")?;
        let is_metadata =
            matches!(&payload, Payload::CustomSection(section) if section.name() == SECTION);
        if let Some((id, range)) = payload.as_section().filter(|_| !is_metadata) {
            let range = usize::try_from(range.start)?..usize::try_from(range.end)?;
            replaced.section(&RawSection {
                id,
                data: &module[range],
            });
        }
    }
    let json = serde_json::to_vec(metadata)?;
    let section = CustomSection {
        name: SECTION.into(),
        data: json.into(),
    };
    Ok(replaced.section(&section).as_slice().to_vec())
}
