//! Lookups: questions to registries, through the host, within the limits of one request. `rules/registry.rs` decides
//! which images are looked up, and what follows from the answers.

pub(crate) mod failed_lookup;
pub mod failure_class;

use std::collections::BTreeSet;

use oci_spec::image::Platform;

pub use self::failure_class::FailureClass;
use crate::image::is_digest;

/// A client of registries. In the module it is the host, with its capabilities `oci/v1/manifest_digest` and
/// `oci/v1/oci_manifest`.
pub trait RegistryClient {
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

/// The host capability for digests, as `hostCapabilities` of a `PolicyServer` names it.
const MANIFEST_DIGEST: &str = "oci/v1/manifest_digest";
/// The host capability for platforms.
const OCI_MANIFEST: &str = "oci/v1/oci_manifest";

/// The reason why a lookup gave no answer.
#[derive(Clone, Copy, Debug)]
pub struct NoLookupAnswerReason {
    /// The class of the failure.
    pub class: FailureClass,
    /// Whether the host was called. It is not called again after it refused a capability, and for a registry that
    /// gave no answer to an earlier lookup of this request.
    pub was_asked: bool,
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
    /// The registry's host, in the form in which hosts are compared.
    pub(crate) registry: String,
    /// The normalised repository.
    pub(crate) repository: String,
    /// Whether the platforms of the image are asked for, too.
    pub(crate) with_platforms: bool,
}

/// The lookups of one request, with their limit and what prevents more of them. It keeps no answers.
pub(crate) struct LimitedRegistryClient<'r> {
    registries: &'r mut dyn RegistryClient,
    /// How many lookups may still be made.
    left: usize,
    /// The registries that gave no answer.
    away: BTreeSet<String>,
    /// The capability that the host refuses.
    refused: Option<&'static str>,
}

impl<'r> LimitedRegistryClient<'r> {
    /// A session of at most `max` lookups.
    pub(crate) fn new(registries: &'r mut dyn RegistryClient, max: usize) -> Self {
        Self {
            registries,
            left: max,
            away: BTreeSet::new(),
            refused: None,
        }
    }

    /// Makes one lookup: first the digest, then the platforms of that digest if they are wanted. So
    /// both answers are about the same manifest.
    ///
    /// # Errors
    /// The lookup failed, or it was not made.
    pub(crate) fn look_up(
        &mut self,
        question: &ImageToLookUp,
    ) -> Result<LookupAnswer, NoLookupAnswerReason> {
        let not_asked = |class, capability| NoLookupAnswerReason {
            class,
            was_asked: false,
            capability,
        };
        if let Some(capability) = self.refused {
            return Err(not_asked(FailureClass::NotGranted, capability));
        }
        if self.away.contains(&question.registry) {
            return Err(not_asked(FailureClass::Unreachable, MANIFEST_DIGEST));
        }
        self.left = (self.left.checked_sub(1))
            .ok_or_else(|| not_asked(FailureClass::LimitReached, MANIFEST_DIGEST))?;
        // An answer that is no digest is not understood.
        let digest = (self.registries)
            .manifest_digest(&question.image)
            .and_then(|digest| is_digest(&digest).then_some(digest).ok_or_else(String::new))
            .map_err(|text| self.failed(question, &text, MANIFEST_DIGEST))?;
        let platforms = if question.with_platforms {
            let image = format!("{}@{digest}", question.repository);
            let platforms = self.registries.platforms(&image);
            platforms.map_err(|text| self.failed(question, &text, OCI_MANIFEST))?
        } else {
            None
        };
        Ok(LookupAnswer { digest, platforms })
    }

    /// Classifies an error. Remembers a registry that gives no answer, or a refused host capability.
    fn failed(
        &mut self,
        question: &ImageToLookUp,
        text: &str,
        capability: &'static str,
    ) -> NoLookupAnswerReason {
        let class = FailureClass::classify(text);
        match class {
            FailureClass::Unreachable => {
                self.away.insert(question.registry.clone());
            }
            FailureClass::NotGranted => self.refused = Some(capability),
            _ => {}
        }
        NoLookupAnswerReason {
            class,
            was_asked: true,
            capability,
        }
    }
}
