//! The host's side of host calls as Kubewarden's hosts have it: who may make them, and who answers.
//!
//! Two capabilities are served, those that this project's policy uses; anything else gets the refusal
//! that the real hosts give to what they don't know. The refusals' texts are theirs as well, because
//! policies have nothing but the text to tell them apart.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::capabilities::{Capabilities, log, refusal};

/// Every capability that Kubewarden 1.36 knows, as `namespace/operation`. Allow-lists are checked
/// against it.
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

/// Which capabilities a policy has been granted: `*`, `oci/*`, `oci/v1/*`, `oci/v1/manifest_digest`.
#[derive(Debug)]
pub(crate) struct AllowList(Vec<String>);

impl AllowList {
    /// Reads patterns. What could never match is an error, for a typing error here would otherwise
    /// show as a policy that fails.
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

/// A wildcard has to be the whole last part.
fn matches(pattern: &str, capability: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => {
            (prefix.is_empty() || prefix.ends_with('/')) && capability.starts_with(prefix)
        }
        None => pattern == capability,
    }
}

/// Why a capability gave no answer.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// In one line; what a recorded session keeps.
    pub(crate) summary: String,
    /// With its causes; what the policy hears.
    pub(crate) details: String,
}

impl From<String> for Failure {
    fn from(summary: String) -> Self {
        Self {
            details: summary.clone(),
            summary,
        }
    }
}

/// What a policy asks of a registry. The names are those of kwctl's recorded sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// `oci/v1/manifest_digest`; the answer is `{"digest":"sha256:..."}`.
    OciManifestDigest {
        /// As the policy wrote it.
        image: String,
    },
    /// `oci/v1/oci_manifest`; the answer is the image's manifest or index.
    OciManifest {
        /// As the policy wrote it.
        image: String,
    },
}

/// Whoever knows what registries know.
pub(crate) trait Registries: Send + Sync {
    /// The answer, in JSON.
    fn ask(&self, question: &Question) -> Result<String, Failure>;
}

/// The host's side of a policy's host calls, as Kubewarden's hosts have it.
pub(crate) struct HostFunctions {
    allowed: AllowList,
    registries: Arc<dyn Registries>,
    verbose: bool,
}

impl HostFunctions {
    /// Grants what `allowed` says; log entries below `info` are printed only when `verbose`.
    pub(crate) fn new(allowed: AllowList, registries: Arc<dyn Registries>, verbose: bool) -> Self {
        Self {
            allowed,
            registries,
            verbose,
        }
    }
}

impl Capabilities for HostFunctions {
    fn call(
        &self,
        binding: &str,
        namespace: &str,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, String> {
        if binding != "kubewarden" {
            return Err(format!("unknown binding: {binding}"));
        }
        let capability = format!("{namespace}/{operation}");
        if namespace != "tracing" && !self.allowed.allows(&capability) {
            return Err(refusal(&capability));
        }
        let question = match (namespace, operation) {
            ("tracing", "log") => {
                log(payload, self.verbose);
                return Ok(Vec::new());
            }
            ("oci", "v1/manifest_digest") => |image| Question::OciManifestDigest { image },
            ("oci", "v1/oci_manifest") => |image| Question::OciManifest { image },
            ("tracing" | "oci" | "net" | "crypto" | "kubernetes", _) => {
                return Err(format!("unknown operation: {operation}"));
            }
            _ => return Err(format!("unknown namespace: {namespace}")),
        };
        let image: String = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        self.registries
            .ask(&question(image))
            .map(String::into_bytes)
            .map_err(|failure| format!("Callback evaluation failure: {}", failure.details))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Result<&'static str, &'static str>);

    impl Registries for Fixed {
        fn ask(&self, question: &Question) -> Result<String, Failure> {
            match self.0 {
                Ok(digest) => Ok(format!("{question:?} {digest}")),
                Err(text) => Err(Failure {
                    summary: text.to_owned(),
                    details: format!("{text}\n\nCaused by:\n    more"),
                }),
            }
        }
    }

    fn call(
        patterns: &[&str],
        digests: Fixed,
        target: (&str, &str, &str),
    ) -> Result<String, String> {
        let allowed = AllowList::new(patterns).expect("patterns");
        let functions = HostFunctions::new(allowed, Arc::new(digests), false);
        functions
            .call(target.0, target.1, target.2, b"\"nginx\"")
            .map(|answer| String::from_utf8(answer).expect("utf-8"))
    }

    #[test]
    fn patterns_grant_what_they_name() {
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
    fn the_guest_hears_the_real_hosts_words() {
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
