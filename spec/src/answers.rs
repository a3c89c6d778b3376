//! The answers of the registries in a case.

use std::collections::BTreeMap;

use crate::image::Reference;

/// The digests that the simulated registries answer for tags.
pub(crate) const ANSWERED_DIGESTS: [&str; 3] = [
    "sha256:1111111111111111111111111111111111111111111111111111111111111111",
    "sha256:2222222222222222222222222222222222222222222222222222222222222222",
    "sha256:3333333333333333333333333333333333333333333333333333333333333333",
];

/// The answers of the registries. If `digests` doesn't list a reference, its lookup succeeds. The
/// answer is the digest in the reference. If the reference has no digest, its length decides which
/// digest of `ANSWERED_DIGESTS` is the answer. If `indexes` doesn't list an image, it has no index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// The answers to lookups of digests, by normalised image reference.
    pub digests: BTreeMap<String, Result<String, Failure>>,
    /// The answers to requests for manifests, by `registry/repository@digest`.
    pub indexes: BTreeMap<String, Index>,
}

/// The OS and the architecture of each entry of an image index. `None` means that the image has only one
/// platform, and so no index. The error is the reason why the manifest can't be fetched.
pub type Index = Result<Option<Vec<(String, String)>>, Failure>;

impl Answers {
    pub(crate) fn manifest_digest(&self, image: &str) -> Result<String, Failure> {
        let default = ANSWERED_DIGESTS[image.len() % ANSWERED_DIGESTS.len()];
        let written = || Reference::parse(image)?.digest;
        self.digests
            .get(image)
            .cloned()
            .unwrap_or_else(|| Ok(written().unwrap_or_else(|| default.to_owned())))
    }

    pub(crate) fn platforms(&self, image: &str) -> Index {
        self.indexes.get(image).cloned().unwrap_or(Ok(None))
    }
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

    /// The name of the class in the annotation `lookups`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NotFound => "notFound",
            Self::Denied => "denied",
            Self::RateLimited => "rateLimited",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
        }
    }
}
