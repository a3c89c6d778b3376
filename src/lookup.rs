//! Lookups: questions to registries, through the host, within the limits of one request.

pub mod failure_class;

use oci_spec::image::Platform;

pub use self::failure_class::FailureClass;
use crate::image::is_digest;

/// The lookups in registries that the host capabilities `oci/v1/manifest_digest` and
/// `oci/v1/oci_manifest` offer.
pub trait RegistryLookups {
    /// The digest of the manifest, or of the index, behind an image reference.
    ///
    /// # Errors
    /// The host's own error text. It is classified and never shown.
    fn manifest_digest(&mut self, image: &str) -> Result<String, String>;

    /// The platforms in the index of an image. None if the image has no index that can be read.
    ///
    /// # Errors
    /// The host's own error text. It is classified and never shown.
    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String>;
}

/// Whether a lookup was made, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupAttempt {
    /// The host was called. Unless the host refuses the capability, it answers from its cache or asks the
    /// registry.
    Made,
    /// An earlier lookup of this request found the same registry unreachable, so the host was not called.
    RegistryIsDown,
    /// `registry.maxLookups` lookups were already made in this request, so no further lookup is made.
    LimitReached,
    /// The host refused an earlier lookup of this request, so no further lookup is made.
    HostRefuses,
}

/// The host capability for digests, as `hostCapabilities` of a `PolicyServer` names it.
const MANIFEST_DIGEST: &str = "oci/v1/manifest_digest";
/// The host capability for platforms.
const OCI_MANIFEST: &str = "oci/v1/oci_manifest";

/// The reason why a lookup gave no answer.
#[derive(Clone, Copy, Debug)]
pub struct LookupError {
    /// The class of the failure.
    pub class: FailureClass,
    /// Whether the lookup was made, and if not, why.
    pub attempt: LookupAttempt,
    /// The host capability of the call that failed or was not made. After a refusal, this is the
    /// capability that the host refuses.
    pub capability: &'static str,
}

/// The answer to a lookup.
pub struct LookupAnswer {
    /// The digest of the image.
    pub digest: String,
    /// The platforms in the image's index. None if they were not asked for, or if the image has no
    /// index that can be read.
    pub platforms: Option<Vec<Platform>>,
}

/// An image to look up.
pub(crate) struct ImageToLookUp {
    /// The normalised image, so that all spellings share the host's cache.
    pub(crate) image: String,
    /// The registry.
    pub(crate) registry: String,
    /// The normalised repository.
    pub(crate) repository: String,
    /// Whether the platforms of the image are asked for, too.
    pub(crate) with_platforms: bool,
}

/// Looks up images in their order, at most `max` of them. Each has an answer, or the reason why there is
/// none.
pub(crate) fn look_up<'i>(
    images: impl Iterator<Item = &'i ImageToLookUp>,
    max: usize,
    registries: &mut dyn RegistryLookups,
) -> Vec<Result<LookupAnswer, LookupError>> {
    let mut session = LookupSession {
        registries,
        left: max,
        down: Vec::new(),
        refused: None,
    };
    images.map(|image| session.look_up(image)).collect()
}

/// The lookups of one request.
struct LookupSession<'r> {
    registries: &'r mut dyn RegistryLookups,
    /// How many lookups may still be made.
    left: usize,
    /// The registries that were unreachable. Each lookup adds at most one.
    down: Vec<String>,
    /// The capability that the host refuses.
    refused: Option<&'static str>,
}

impl LookupSession<'_> {
    /// Makes one lookup: first the digest, then the platforms of that digest if they are wanted. So
    /// both answers are about the same manifest.
    fn look_up(&mut self, question: &ImageToLookUp) -> Result<LookupAnswer, LookupError> {
        let not_made = |class, attempt, capability| LookupError {
            class,
            attempt,
            capability,
        };
        if let Some(capability) = self.refused {
            let attempt = LookupAttempt::HostRefuses;
            return Err(not_made(FailureClass::NotGranted, attempt, capability));
        }
        let failed = |class, attempt| not_made(class, attempt, MANIFEST_DIGEST);
        if self.down.contains(&question.registry) {
            let attempt = LookupAttempt::RegistryIsDown;
            return Err(failed(FailureClass::Unreachable, attempt));
        }
        let Some(left) = self.left.checked_sub(1) else {
            let attempt = LookupAttempt::LimitReached;
            return Err(failed(FailureClass::Unreachable, attempt));
        };
        self.left = left;
        let digest = match self.registries.manifest_digest(&question.image) {
            Ok(digest) if is_digest(&digest) => digest,
            Ok(_) => return Err(failed(FailureClass::Unknown, LookupAttempt::Made)),
            Err(text) => return Err(self.failed(question, &text, MANIFEST_DIGEST)),
        };
        let platforms = if question.with_platforms {
            let image = format!("{}@{digest}", question.repository);
            let platforms = self.registries.platforms(&image);
            platforms.map_err(|text| self.failed(question, &text, OCI_MANIFEST))?
        } else {
            None
        };
        Ok(LookupAnswer { digest, platforms })
    }

    /// Classifies an error. Remembers an unreachable registry, or a refused host capability.
    fn failed(
        &mut self,
        question: &ImageToLookUp,
        text: &str,
        capability: &'static str,
    ) -> LookupError {
        let class = FailureClass::classify(text);
        match class {
            FailureClass::Unreachable => self.down.push(question.registry.clone()),
            FailureClass::NotGranted => self.refused = Some(capability),
            _ => {}
        }
        LookupError {
            class,
            attempt: LookupAttempt::Made,
            capability,
        }
    }
}
