//! WebAssembly modules as bytes. A custom section of an annotated module has the policy's metadata in JSON.

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use wasm_encoder::{CustomSection, Section};
use wasmparser::{Parser, Payload};

/// A policy's metadata, with the keys of `metadata.yml`.
pub(crate) type Metadata = Map<String, Value>;

/// The custom section that holds the metadata.
const SECTION: &str = "io.kubewarden.metadata";

/// The imports of a module as `module.name`.
#[cfg(feature = "wasmtime")]
pub(crate) fn imports(module: &[u8]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ImportSection(imports) = payload.context("not a WebAssembly module")? {
            for import in imports {
                let import = import.context("cannot read the imports")?;
                names.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    Ok(names)
}

/// The metadata of an annotated module. `None` if the module isn't annotated.
pub(crate) fn metadata(module: &[u8]) -> Result<Option<Metadata>> {
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

/// Adds metadata at the end of a module.
pub(crate) fn add_metadata(module: &mut Vec<u8>, metadata: &Metadata) -> Result<()> {
    let json = serde_json::to_vec(metadata).context("cannot serialise the metadata")?;
    let section = CustomSection {
        name: SECTION.into(),
        data: json.into(),
    };
    section.append_to(module);
    Ok(())
}
