//! Answers a policy's host calls as Kubewarden's hosts do: an allow-list grants a call, and a registry or
//! a recorded session answers the call.
//!
//! This host serves the log and the two capabilities that this policy uses. It refuses every other call.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::capabilities::{Capabilities, WapcHostCall, log, refusal};

/// Whether a pattern matches a capability. Parts are separated by `/`. A `*` may only be the whole last
/// part of a pattern.
fn matches(pattern: &str, capability: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => {
            (prefix.is_empty() || prefix.ends_with('/')) && capability.starts_with(prefix)
        }
        None => pattern == capability,
    }
}

/// The reason why a call to a registry failed.
#[derive(Debug, Clone)]
pub(crate) struct RegistryFailure {
    /// The error without its causes, for recorded sessions.
    pub(crate) summary: String,
    /// The summary and its causes, for the policy.
    pub(crate) details: String,
}

impl From<String> for RegistryFailure {
    fn from(summary: String) -> Self {
        Self {
            details: summary.clone(),
            summary,
        }
    }
}

/// A call of the policy to a registry. The variants have the same names as in kwctl's recorded sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RegistryCall {
    /// `oci/v1/manifest_digest`; the answer is `{"digest":"sha256:..."}`.
    OciManifestDigest {
        /// The image reference, as the policy wrote it.
        image: String,
    },
    /// `oci/v1/oci_manifest`; the answer is the image's manifest or index.
    OciManifest {
        /// The image reference, as the policy wrote it.
        image: String,
    },
}

/// Answers the calls to registries.
pub(crate) trait Registries: Send + Sync {
    /// The answer, in JSON.
    fn answer(&self, call: &RegistryCall) -> Result<String, RegistryFailure>;
}

/// Grants the capabilities that match one of the patterns, and lets `registries` answer the calls to them.
/// Examples of patterns are `*`, `oci/*`, `oci/v1/*` and `oci/v1/manifest_digest`.
pub(crate) fn granted(patterns: Vec<String>, registries: Arc<dyn Registries>) -> Capabilities {
    Arc::new(move |call| answer(&patterns, &*registries, call))
}

fn answer(
    patterns: &[String],
    registries: &dyn Registries,
    call: WapcHostCall<'_>,
) -> Result<Vec<u8>, String> {
    if (call.namespace, call.operation) == ("tracing", "log") {
        log(call.payload);
        return Ok(Vec::new());
    }
    let capability = format!("{}/{}", call.namespace, call.operation);
    let is_granted = patterns.iter().any(|pattern| matches(pattern, &capability));
    let registry_call = match capability.as_str() {
        "oci/v1/manifest_digest" if is_granted => |image| RegistryCall::OciManifestDigest { image },
        "oci/v1/oci_manifest" if is_granted => |image| RegistryCall::OciManifest { image },
        _ => return Err(refusal(&capability)),
    };
    let image: String = serde_json::from_slice(call.payload).map_err(|error| error.to_string())?;
    registries
        .answer(&registry_call(image))
        .map(String::into_bytes)
        .map_err(|failure| format!("Callback evaluation failure: {}", failure.details))
}
