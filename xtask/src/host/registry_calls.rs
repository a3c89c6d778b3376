//! Answers a policy's host calls as Kubewarden's hosts do: an allow-list grants a call, and a registry or
//! a recorded session answers the call.
//!
//! This host serves the log and the two capabilities that this policy uses. A refusal has the same text as
//! in Kubewarden's hosts, because a policy can distinguish refusals only by their text.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::capabilities::{Capabilities, WapcHostCall, log, refusal};

/// Every capability of Kubewarden 1.36, as `namespace/operation`.
const KNOWN: [&str; 11] = [
    "crypto/v1/is_certificate_trusted",
    "kubernetes/can_i",
    "kubernetes/get_resource",
    "kubernetes/list_resources_all",
    "kubernetes/list_resources_by_namespace",
    "net/v1/dns_lookup_host",
    "oci/v1/manifest_digest",
    "oci/v1/oci_manifest",
    "oci/v1/oci_manifest_config",
    "oci/v1/verify",
    "oci/v2/verify",
];

/// The capabilities that a policy may use, as a list of patterns. Examples of patterns are `*`, `oci/*`,
/// `oci/v1/*` and `oci/v1/manifest_digest`.
#[derive(Debug)]
pub(crate) struct AllowList(Vec<String>);

impl AllowList {
    /// Reads patterns.
    ///
    /// # Errors
    /// When a pattern matches no capability: with a mistyped pattern, the policy's calls would fail later.
    pub(crate) fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        let patterns: Vec<String> = patterns
            .iter()
            .map(|pattern| pattern.as_ref().trim().to_owned())
            .collect();
        for pattern in &patterns {
            ensure!(
                KNOWN.iter().any(|known| matches(pattern, known)),
                "'{pattern}' is no host capability; known: {}, and oci/* and the like",
                KNOWN.join(", ")
            );
        }
        Ok(Self(patterns))
    }

    fn allows(&self, capability: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern, capability))
    }
}

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

/// Grants the capabilities of an allow-list, and lets `registries` answer the calls to them. Log entries
/// below the level `info` are printed only if `verbose` is set.
pub(crate) fn granted(
    allowed: AllowList,
    registries: Arc<dyn Registries>,
    verbose: bool,
) -> Capabilities {
    Arc::new(move |call| answer(&allowed, &*registries, verbose, call))
}

fn answer(
    allowed: &AllowList,
    registries: &dyn Registries,
    verbose: bool,
    call: WapcHostCall<'_>,
) -> Result<Vec<u8>, String> {
    let (namespace, operation) = (call.namespace, call.operation);
    if call.binding != "kubewarden" {
        return Err(format!("unknown binding: {}", call.binding));
    }
    let capability = format!("{namespace}/{operation}");
    if namespace != "tracing" && !allowed.allows(&capability) {
        return Err(refusal(&capability));
    }
    let registry_call = match (namespace, operation) {
        ("tracing", "log") => {
            log(call.payload, verbose);
            return Ok(Vec::new());
        }
        ("oci", "v1/manifest_digest") => |image| RegistryCall::OciManifestDigest { image },
        ("oci", "v1/oci_manifest") => |image| RegistryCall::OciManifest { image },
        ("tracing" | "oci" | "net" | "crypto" | "kubernetes", _) => {
            return Err(format!("unknown operation: {operation}"));
        }
        _ => return Err(format!("unknown namespace: {namespace}")),
    };
    let image: String = serde_json::from_slice(call.payload).map_err(|error| error.to_string())?;
    registries
        .answer(&registry_call(image))
        .map(String::into_bytes)
        .map_err(|failure| format!("Callback evaluation failure: {}", failure.details))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Result<&'static str, &'static str>);

    impl Registries for Fixed {
        fn answer(&self, call: &RegistryCall) -> Result<String, RegistryFailure> {
            match self.0 {
                Ok(digest) => Ok(format!("{call:?} {digest}")),
                Err(text) => Err(RegistryFailure {
                    summary: text.to_owned(),
                    details: format!("{text}\n\nCaused by:\n    more"),
                }),
            }
        }
    }

    fn call(
        patterns: &[&str],
        digests: Fixed,
        (binding, namespace, operation): (&str, &str, &str),
    ) -> Result<String, String> {
        let allowed = AllowList::new(patterns).expect("patterns");
        let call = WapcHostCall {
            binding,
            namespace,
            operation,
            payload: b"\"nginx\"",
        };
        granted(allowed, Arc::new(digests), false)(call)
            .map(|answer| String::from_utf8(answer).expect("utf-8"))
    }

    #[test]
    fn patterns_grant_the_capabilities_that_they_match() {
        for (patterns, granted) in [
            (&["*"][..], true),
            (&["oci/*"], true),
            (&["oci/v1/*"], true),
            (&["oci/v1/manifest_digest"], true),
            (&["net/*", " oci/v1/manifest_digest "], true),
            (&[], false),
            (&["oci/v2/*"], false),
            (&["oci/v1/verify"], false),
            (&["net/*", "kubernetes/can_i"], false),
        ] {
            let answer = call(
                patterns,
                Fixed(Ok("d")),
                ("kubewarden", "oci", "v1/manifest_digest"),
            );
            assert_eq!(answer.is_ok(), granted, "{patterns:?}");
        }
    }

    #[test]
    fn patterns_that_could_never_match_are_errors() {
        for pattern in [
            "",
            "oci",
            "oci/v1",
            "oci*",
            "oci/v1/mani*",
            "*/oci",
            "oci/v9/*",
            "oci/*/x*",
            "oci/v1/nope",
            "/*",
        ] {
            assert!(AllowList::new(&[pattern]).is_err(), "{pattern}");
        }
    }

    #[test]
    fn the_guest_gets_the_texts_of_the_real_hosts() {
        let digest = ("kubewarden", "oci", "v1/manifest_digest");
        for (patterns, digests, target, expected) in [
            (
                &["*"][..],
                Fixed(Ok("d")),
                digest,
                Ok(r#"OciManifestDigest { image: "nginx" } d"#),
            ),
            (
                &["*"],
                Fixed(Ok("m")),
                ("kubewarden", "oci", "v1/oci_manifest"),
                Ok(r#"OciManifest { image: "nginx" } m"#),
            ),
            (
                &["*"],
                Fixed(Err("gone")),
                digest,
                Err("Callback evaluation failure: gone\n\nCaused by:\n    more"),
            ),
            (
                &[],
                Fixed(Ok("d")),
                digest,
                Err(
                    "Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.",
                ),
            ),
            (
                &["*"],
                Fixed(Ok("d")),
                ("kubewarden", "oci", "v1/nope"),
                Err("unknown operation: v1/nope"),
            ),
            (
                &["*"],
                Fixed(Ok("d")),
                ("kubewarden", "nope", "v1/x"),
                Err("unknown namespace: nope"),
            ),
            (
                &["*"],
                Fixed(Ok("d")),
                ("nope", "oci", "v1/manifest_digest"),
                Err("unknown binding: nope"),
            ),
            (
                &[],
                Fixed(Ok("d")),
                ("kubewarden", "tracing", "log"),
                Ok(""),
            ),
        ] {
            let answer = call(patterns, digests, target);
            assert_eq!(
                answer.as_deref().map_err(String::as_str),
                expected,
                "{patterns:?} {target:?}"
            );
        }
    }
}
