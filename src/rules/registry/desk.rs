//! Asking registries, within the bounds of one request.

use oci_spec::image::Platform;

use super::failure::Failure;
use crate::image::{Reference, is_digest};

/// What registries say: the host capabilities `oci/v1/manifest_digest` and `oci/v1/oci_manifest`.
pub trait Registries {
    /// The digest of the manifest, or of the index, that an image's tag points to.
    ///
    /// # Errors
    /// The host's own text, which is classified and never shown.
    fn manifest_digest(&mut self, image: &str) -> Result<String, String>;

    /// The platforms in the index of an image; none where it has no index.
    ///
    /// # Errors
    /// The host's own text, which is classified and never shown.
    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String>;
}

/// Why an image was not looked up, if it wasn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The registry was asked.
    Yes,
    /// Another image of that registry got no answer in this request.
    RegistryIsDown,
    /// `registry.maxLookups` were made in this request.
    LimitReached,
    /// The host refused an earlier lookup of this request, and would refuse them all.
    HostRefuses,
}

/// A host capability that a lookup needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `oci/v1/manifest_digest`
    ManifestDigest,
    /// `oci/v1/oci_manifest`
    Manifest,
}

impl Capability {
    /// Its name in `hostCapabilities`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::ManifestDigest => "oci/v1/manifest_digest",
            Self::Manifest => "oci/v1/oci_manifest",
        }
    }
}

/// A lookup that gave nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoAnswer {
    /// How it failed.
    pub failure: Failure,
    /// Whether the registry was asked at all.
    pub asked: Asked,
    /// What the host was asked for.
    pub capability: Capability,
}

/// What a lookup gave.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The digest that stands behind the reference.
    pub digest: String,
    /// The platforms in its index, where they were asked for and it has one.
    pub platforms: Option<Vec<Platform>>,
}

/// Who asks.
pub(super) struct Desk<'r> {
    registries: &'r mut dyn Registries,
    left: usize,
    /// Registries that gave no answer: at most as many as lookups.
    down: Vec<String>,
    /// What the host refuses.
    refused: Option<Capability>,
}

impl<'r> Desk<'r> {
    pub(super) fn new(registries: &'r mut dyn Registries, lookups: usize) -> Self {
        Self {
            registries,
            left: lookups,
            down: Vec::new(),
            refused: None,
        }
    }

    /// Makes one lookup: the digest, and where it is asked for the platforms behind it. Asked by
    /// digest, so that both answers are about the same manifest.
    pub(super) fn look_up(
        &mut self,
        reference: &Reference<'_>,
        image: &str,
        with_platforms: bool,
    ) -> Result<Answer, NoAnswer> {
        let not_asked = |failure, asked, capability| NoAnswer {
            failure,
            asked,
            capability,
        };
        if let Some(capability) = self.refused {
            let asked = Asked::HostRefuses;
            return Err(not_asked(Failure::NotGranted, asked, capability));
        }
        let first = Capability::ManifestDigest;
        if self.down.iter().any(|down| down == reference.registry()) {
            let asked = Asked::RegistryIsDown;
            return Err(not_asked(Failure::Unreachable, asked, first));
        }
        let Some(left) = self.left.checked_sub(1) else {
            let asked = Asked::LimitReached;
            return Err(not_asked(Failure::Unreachable, asked, first));
        };
        self.left = left;
        let digest = match self.registries.manifest_digest(image) {
            Ok(digest) if is_digest(&digest) => digest,
            Ok(_) => return Err(not_asked(Failure::Unknown, Asked::Yes, first)),
            Err(text) => return Err(self.failed(reference, &text, first)),
        };
        let platforms = if with_platforms {
            let image = format!("{}@{digest}", reference.repository());
            let platforms = self.registries.platforms(&image);
            platforms.map_err(|text| self.failed(reference, &text, Capability::Manifest))?
        } else {
            None
        };
        Ok(Answer { digest, platforms })
    }

    fn failed(
        &mut self,
        reference: &Reference<'_>,
        text: &str,
        capability: Capability,
    ) -> NoAnswer {
        let failure = Failure::classify(text);
        match failure {
            Failure::Unreachable => self.down.push(reference.registry().to_owned()),
            Failure::NotGranted => self.refused = Some(capability),
            _ => {}
        }
        NoAnswer {
            failure,
            asked: Asked::Yes,
            capability,
        }
    }
}
