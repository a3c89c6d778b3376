//! What a request costs. The figures are the same whenever a module gets the same payload.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use xtask::host::module::{Capabilities, Module};

/// The cost of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// The size of the payload. A hostile request adds the size of the registry's answers.
    pub(crate) request_bytes: u64,
    /// The number of bytes by which the changed object is larger than the object of the request.
    pub(crate) added_bytes: u64,
    /// The instructions that the module executed, its start-up included, in wasmtime's fuel.
    pub(crate) instructions: u64,
    /// The linear memory at its peak.
    pub(crate) memory_bytes: u64,
}

/// Sends a request whose object has this number of bytes. Returns the answer too.
pub(crate) fn of(
    module: &Module,
    capabilities: &Capabilities,
    payload: &[u8],
    object_bytes: usize,
) -> Result<(Vec<u8>, Cost)> {
    /// The changed object isn't parsed, because a hostile object may be nested too deeply.
    #[derive(Deserialize)]
    struct Changed<'a> {
        #[serde(borrow)]
        mutated_object: Option<&'a RawValue>,
    }
    let answer = module.call(capabilities, "validate", payload)?;
    let changed: Changed<'_> =
        serde_json::from_slice(&answer.bytes).context("the answer can't be read")?;
    let changed_bytes = changed
        .mutated_object
        .map_or(0, |object| object.get().len());
    let cost = Cost {
        request_bytes: u64::try_from(payload.len())?,
        added_bytes: u64::try_from(changed_bytes.saturating_sub(object_bytes))?,
        instructions: answer.instructions,
        memory_bytes: answer.memory_bytes,
    };
    Ok((answer.bytes, cost))
}
