//! What a policy may ask of its host: the waPC host call, who may make it, and who answers.
//!
//! One capability is served, `oci/v1/manifest_digest`, the only one that this project's policy uses;
//! anything else gets the refusal that the real hosts give to what they don't know. The refusals'
//! texts are theirs as well, because policies have nothing but the text to tell them apart.

use std::sync::Arc;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Every capability that Kubewarden 1.36 knows, as `namespace/operation`. Allow-lists are checked
/// against it, and so is what a policy's metadata declares.
pub(crate) const KNOWN: [&str; 11] = [
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

/// Which capabilities a policy has been granted.
#[derive(Debug, Default)]
pub(crate) struct AllowList {
    patterns: Vec<Pattern>,
}

#[derive(Debug, PartialEq)]
enum Pattern {
    Everything,
    /// Ends with `/`.
    Below(String),
    Exactly(String),
}

impl AllowList {
    /// Reads patterns: `*`, `oci/*`, `oci/v1/*` or `oci/v1/manifest_digest`. What could never match
    /// is an error, for a typing error here would otherwise show as a policy that fails.
    pub(crate) fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self> {
        let patterns = patterns
            .iter()
            .map(|pattern| Pattern::parse(pattern.as_ref().trim()))
            .collect::<Result<_>>()?;
        Ok(Self { patterns })
    }

    fn allows(&self, capability: &str) -> bool {
        self.patterns.iter().any(|pattern| match pattern {
            Pattern::Everything => true,
            Pattern::Below(prefix) => capability.starts_with(prefix),
            Pattern::Exactly(name) => capability == name,
        })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self> {
        if text == "*" {
            return Ok(Self::Everything);
        }
        if let Some(prefix) = text.strip_suffix('*') {
            if !prefix.ends_with('/') || prefix.contains('*') {
                bail!("'{text}': a wildcard has to be the whole last part, as in 'oci/*'");
            }
            if !KNOWN.iter().any(|known| known.starts_with(prefix)) {
                bail!(
                    "'{text}': no host capability begins like this; known: {}",
                    KNOWN.join(", ")
                );
            }
            return Ok(Self::Below(prefix.to_owned()));
        }
        if text.contains('*') {
            bail!("'{text}': a wildcard has to be the whole last part, as in 'oci/*'");
        }
        if !KNOWN.contains(&text) {
            bail!(
                "'{text}' is no host capability; known: {}",
                KNOWN.join(", ")
            );
        }
        Ok(Self::Exactly(text.to_owned()))
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

/// Whoever answers `oci/v1/manifest_digest`.
pub(crate) trait ManifestDigests: Send + Sync {
    /// The answer for an image's reference: JSON, `{"digest":"sha256:..."}`.
    fn manifest_digest(&self, image: &str) -> Result<String, Failure>;
}

/// The host's side of a policy's host calls.
pub(crate) struct HostFunctions {
    allowed: AllowList,
    digests: Option<Arc<dyn ManifestDigests>>,
    verbose: bool,
}

impl HostFunctions {
    /// Grants what `allowed` says; log entries below `info` are printed only when `verbose`.
    pub(crate) fn new(
        allowed: AllowList,
        digests: Arc<dyn ManifestDigests>,
        verbose: bool,
    ) -> Self {
        Self {
            allowed,
            digests: Some(digests),
            verbose,
        }
    }

    /// Grants nothing.
    pub(crate) fn none() -> Self {
        Self {
            allowed: AllowList::default(),
            digests: None,
            verbose: false,
        }
    }

    /// Answers a host call; an error is the text that the guest gets.
    pub(crate) fn call(
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
            return Err(format!(
                "Policy has not been granted access to the '{capability}' host capability. \
                 The violation has been reported."
            ));
        }
        match (namespace, operation) {
            ("tracing", "log") => {
                self.log(payload);
                Ok(Vec::new())
            }
            ("oci", "v1/manifest_digest") => {
                let image: String =
                    serde_json::from_slice(payload).map_err(|error| error.to_string())?;
                let digests = self
                    .digests
                    .as_ref()
                    .ok_or("Cannot process Wasm guest request: callback channel not provided")?;
                digests
                    .manifest_digest(&image)
                    .map(String::into_bytes)
                    .map_err(|failure| format!("Callback evaluation failure: {}", failure.details))
            }
            ("tracing" | "oci" | "net" | "crypto" | "kubernetes", _) => {
                Err(format!("unknown operation: {operation}"))
            }
            _ => Err(format!("unknown namespace: {namespace}")),
        }
    }

    /// Prints a log entry of the policy. One that is no log entry is printed as it is: it is the
    /// policy's author who looks.
    fn log(&self, payload: &[u8]) {
        let Ok(entry) = serde_json::from_slice::<LogEntry>(payload) else {
            eprintln!("policy log: {}", String::from_utf8_lossy(payload));
            return;
        };
        let level = entry.level.to_uppercase();
        if !self.verbose && matches!(level.as_str(), "DEBUG" | "TRACE") {
            return;
        }
        let message = entry.message.unwrap_or_default();
        eprintln!("{level:>7} policy: {message} {}", Value::Object(entry.data));
    }
}

/// A log entry as the policy SDK's drain writes it.
#[derive(Deserialize)]
struct LogEntry {
    level: String,
    message: Option<String>,
    #[serde(flatten)]
    data: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Result<&'static str, &'static str>);

    impl ManifestDigests for Fixed {
        fn manifest_digest(&self, image: &str) -> Result<String, Failure> {
            match self.0 {
                Ok(digest) => Ok(format!("{image} {digest}")),
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
            (&["*"][..], Fixed(Ok("d")), digest, Ok("nginx d")),
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

    #[test]
    fn every_granted_capability_is_known_in_order() {
        assert!(KNOWN.is_sorted());
    }
}
