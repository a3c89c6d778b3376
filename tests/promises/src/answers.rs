//! The answers of the registries in a case, and the host that gives them to this policy.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::image::{Reference, shared_name};

/// The digests that the simulated registries answer for tags.
pub(crate) const ANSWERED_DIGESTS: [&str; 3] = [
    "sha256:1111111111111111111111111111111111111111111111111111111111111111",
    "sha256:2222222222222222222222222222222222222222222222222222222222222222",
    "sha256:3333333333333333333333333333333333333333333333333333333333333333",
];

/// The answers of the registries. The keys are the names that all spellings of an image share: see
/// [`shared_name`].
///
/// If `digests` doesn't list a reference, the registry has it. The answer is the digest in the reference, or
/// else one of `ANSWERED_DIGESTS`. If `indexes` doesn't list an image, it has no index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// The answers about the digests of images, and about the manifests that an index names.
    pub digests: BTreeMap<String, Result<String, Failure>>,
    /// The indexes of images, by `registry/repository@digest`.
    pub indexes: BTreeMap<String, Index>,
}

/// The entries of an image index. `None` means that the image has only one platform, and so no index. The
/// error is the reason why the manifest can't be fetched.
pub type Index = Result<Option<Vec<IndexEntry>>, Failure>;

/// One manifest that an image index names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The operating system of the platform.
    pub os: String,
    /// The architecture of the platform.
    pub architecture: String,
    /// The digest of the manifest.
    pub digest: String,
}

/// The classes of failed lookups. Each class except `NotGranted` has its own setting `on…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The tag or the repository does not exist.
    NotFound,
    /// The registry answered 401 or 403.
    Denied,
    /// The registry answered 429.
    RateLimited,
    /// The registry was not reached, or it answered 5xx. DNS, TLS and time-out errors belong to
    /// this class.
    Unreachable,
    /// Any other error or answer.
    Unknown,
    /// The host refused the lookup, because this policy has no access to the host capability.
    NotGranted,
}

impl Failure {
    /// All classes.
    pub(crate) const ALL: [Self; 6] = [
        Self::NotFound,
        Self::Denied,
        Self::RateLimited,
        Self::Unreachable,
        Self::Unknown,
        Self::NotGranted,
    ];
}

impl Answers {
    /// The digest of an image, as its registry answers.
    ///
    /// # Errors
    /// The class of the failure.
    pub fn digest(&self, image: &str) -> Result<String, Failure> {
        let name = shared_name(image).unwrap_or_default();
        let listed = self.digests.get(&name);
        let default = ANSWERED_DIGESTS[name.len() % ANSWERED_DIGESTS.len()];
        let written = Reference::parse(image).and_then(|reference| reference.digest);
        let answer = || Ok(written.unwrap_or_else(|| default.to_owned()));
        listed.cloned().unwrap_or_else(answer)
    }

    /// The index of an image, as its registry answers.
    ///
    /// # Errors
    /// The class of the failure.
    pub fn index(&self, image: &str) -> Index {
        let listed = self.indexes.get(&shared_name(image).unwrap_or_default());
        listed.cloned().unwrap_or(Ok(None))
    }

    /// Answers a host call of waPC.
    ///
    /// # Errors
    /// The error text that the module gets.
    pub fn call(&self, operation: &str, image: &str) -> Result<Value, String> {
        let answer = match operation {
            "v1/manifest_digest" => self.digest(image).map(|digest| json!({"digest": digest})),
            "v1/oci_manifest" => self.index(image).map(manifest),
            _ => return Err(format!("unknown operation: {operation}")),
        };
        answer.map_err(|failure| words(failure, image, operation))
    }
}

/// The manifest of an image: an index with these entries, or a manifest of one platform.
fn manifest(entries: Option<Vec<IndexEntry>>) -> Value {
    let descriptor = |kind: &str, digest: &str| {
        let media_type = format!("application/vnd.oci.image.{kind}.v1+json");
        json!({"mediaType": media_type, "digest": digest, "size": 1})
    };
    let Some(entries) = entries else {
        return json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("config", ANSWERED_DIGESTS[0]),
            "layers": [],
        });
    };
    let manifests = entries.into_iter().map(|entry| {
        let mut manifest = descriptor("manifest", &entry.digest);
        manifest["platform"] = json!({"os": entry.os, "architecture": entry.architecture});
        if entry.architecture == "arm64" {
            manifest["platform"]["variant"] = "v8".into();
        }
        manifest
    });
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests.collect::<Value>(),
    })
}

/// Returns the error text of a Kubewarden host for a failure. `NotGranted` has one text. Each other
/// failure has several texts, and the length of `image` decides which of them is returned. Each
/// text except that of `NotGranted` contains a secret. No answer of the module may show this secret.
fn words(failure: Failure, image: &str, operation: &str) -> String {
    let fail = "Callback evaluation failure: ";
    let url = "url https://s3cr3t-value@r.example.com/v2/a/manifests/t";
    let status = |code: u16| format!("Server error: {url}, code: {code}, message: s3cr3t-value");
    let envelope =
        |message: &str| format!("Registry error: {url}, envelope: OCI API errors: [{message}]");
    let unreachable = format!("error sending request for {url}");
    let texts = match failure {
        Failure::NotFound => vec![
            envelope("OCI API error: manifest unknown"),
            status(404),
            envelope("OCI API error: Failed to fetch \"v9\""),
            envelope("OCI API error: The named manifest is not known to the registry."),
        ],
        Failure::Denied => vec![
            status(403),
            format!("Not authorized: {url}\n\nCaused by:\n    Not authorized: {url}"),
            envelope("OCI API error: requested access to the resource is denied"),
            envelope(
                "OCI API error: Your authorization token has expired. Reauthenticate and try again.",
            ),
            envelope("OCI API error: Unauthenticated request. s3cr3t-value"),
        ],
        Failure::RateLimited => vec![
            envelope(
                "OCI API error: You have reached your unauthenticated pull rate limit. s3cr3t-value",
            ),
            status(429),
            envelope("OCI API error: Rate exceeded"),
        ],
        Failure::Unreachable => vec![
            format!(
                "{unreachable}\n\nCaused by:\n    tcp connect error: Connection refused (os error 111)"
            ),
            status(503),
        ],
        Failure::Unknown => vec!["s3cr3t-value".to_owned(), status(418)],
        Failure::NotGranted => {
            return format!(
                "Policy has not been granted access to the 'oci/{operation}' host capability. The violation has been reported."
            );
        }
    };
    let text = &texts[image.len() % texts.len()];
    format!("{fail}Fail to interact with OCI registry: {text}")
}
