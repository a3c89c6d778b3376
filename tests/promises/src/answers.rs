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

/// A secret in the error texts of the host. It contains [`SECRET`](crate::promises::SECRET), and is
/// another text than the secrets of Pods, because kwctl itself logs these errors.
pub const HOST_SECRET: &str = "host-s3cr3t";

/// The operation with which this policy asks the host for the digest of an image.
pub const MANIFEST_DIGEST: &str = "v1/manifest_digest";

/// The answers of the registries about the digests of images. The keys are the names that all
/// spellings of an image share: see [`shared_name`].
///
/// A registry has each image that isn't listed. Its answer is the digest in the reference, or else
/// one of `ANSWERED_DIGESTS`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers(pub BTreeMap<String, Result<String, Failure>>);

/// The ways in which a lookup fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The tag or the repository does not exist.
    NotFound,
    /// The registry answered 401 or 403.
    Denied,
    /// The registry was not reached, or it answered 5xx. DNS, TLS and time-out errors belong to
    /// this class.
    Unreachable,
    /// Any other error or answer, of the class *denied* or *unavailable*.
    Unknown,
    /// The host refused the lookup, because this policy has no access to the host capability.
    NotGranted,
}

impl Failure {
    /// All ways.
    pub(crate) const ALL: [Self; 5] = [
        Self::NotFound,
        Self::Denied,
        Self::Unreachable,
        Self::Unknown,
        Self::NotGranted,
    ];
}

impl Answers {
    /// The digest of an image, as its registry answers.
    ///
    /// # Errors
    /// The way in which the lookup fails.
    pub fn digest(&self, image: &str) -> Result<String, Failure> {
        let name = shared_name(image).unwrap_or_default();
        let listed = self.0.get(&name);
        let default = ANSWERED_DIGESTS[name.len() % ANSWERED_DIGESTS.len()];
        let written = Reference::parse(image).and_then(|reference| reference.digest);
        let answer = || Ok(written.unwrap_or_else(|| default.to_owned()));
        listed.cloned().unwrap_or_else(answer)
    }

    /// Answers a host call of waPC.
    ///
    /// # Errors
    /// The error text that the module gets.
    pub fn call(&self, operation: &str, image: &str) -> Result<Value, String> {
        if operation != MANIFEST_DIGEST {
            return Err(format!("unknown operation: {operation}"));
        }
        let answer = self.digest(image).map(|digest| json!({"digest": digest}));
        answer.map_err(|failure| words(failure, image))
    }
}

/// An error as a host writes it, with its repetition: up to Kubewarden 1.37 on lines of its own, from
/// 1.38 on in the same line. The length of the texts decides which of them.
#[must_use]
pub fn repeated(error: &str, image: &str) -> String {
    if (error.len() + image.len() / 4).is_multiple_of(2) {
        format!("{error}: {error}")
    } else {
        format!("{error}\n\nCaused by:\n    {error}")
    }
}

/// Returns the error text of a Kubewarden host for a failure. `NotGranted` has one text. Each other
/// failure has several texts, and the length of `image` decides which of them is returned. Each
/// text except that of `NotGranted` contains a secret. No answer of the module may show this
/// secret.
fn words(failure: Failure, image: &str) -> String {
    let fail = "Callback evaluation failure: ";
    let url = format!("url https://{HOST_SECRET}@r.example.com/v2/a/manifests/t");
    let status = |code: u16| format!("Server error: {url}, code: {code}, message: {HOST_SECRET}");
    let envelope =
        |message: &str| format!("Registry error: {url}, envelope: OCI API errors: [{message}]");
    let unreachable = format!("error sending request for {url}");
    let texts = match failure {
        Failure::NotFound => vec![envelope("OCI API error: manifest unknown"), status(404)],
        Failure::Denied => vec![status(403), format!("Not authorized: {url}")],
        Failure::Unreachable => vec![
            format!("{unreachable}: tcp connect error: Connection refused (os error 111)"),
            status(503),
        ],
        Failure::Unknown => vec![HOST_SECRET.to_owned(), status(429)],
        Failure::NotGranted => {
            return "Policy has not been granted access to the 'oci/v1/manifest_digest' host \
                capability. The violation has been reported."
                .to_owned();
        }
    };
    let text = repeated(&texts[image.len() % texts.len()], image);
    format!("{fail}Fail to interact with OCI registry: {text}")
}
