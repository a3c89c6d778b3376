//! The lookups of one request: their limit, and what prevents more of them.

use std::collections::{BTreeMap, BTreeSet};

use oci_spec::image::ImageIndex;

use super::{Class, Client, Failure};
use crate::image::is_digest;

/// The largest number of lookups in one request.
const LOOKUPS_MAX: usize = 20;
/// The host capability for digests, as `hostCapabilities` of a `PolicyServer` names it.
const MANIFEST_DIGEST: &str = "oci/v1/manifest_digest";
/// The host capability for indexes.
const OCI_MANIFEST: &str = "oci/v1/oci_manifest";

/// An image to ask for.
#[derive(Clone, Copy)]
pub(crate) struct Question<'q> {
    /// The normalised image.
    pub(crate) image: &'q str,
    /// The registry's host, in the form in which hosts are compared.
    pub(crate) registry: &'q str,
}

/// The lookups of one request.
pub(crate) struct Session<'c> {
    client: &'c mut dyn Client,
    /// The answers, so that no image is asked for twice.
    answers: BTreeMap<String, Result<String, Failure>>,
    /// The registries that gave no answer.
    away: BTreeSet<String>,
    /// The capabilities that the host refuses.
    refused: BTreeSet<&'static str>,
}

impl<'c> Session<'c> {
    /// A session without any lookup yet.
    pub(crate) fn new(client: &'c mut dyn Client) -> Self {
        Self {
            client,
            answers: BTreeMap::new(),
            away: BTreeSet::new(),
            refused: BTreeSet::new(),
        }
    }

    /// Asks for the digest of an image. This is one lookup.
    ///
    /// # Errors
    /// The lookup failed, or it was not made.
    pub(crate) fn digest(&mut self, question: Question<'_>) -> Result<String, Failure> {
        if let Some(answer) = self.answers.get(question.image) {
            return answer.clone();
        }
        self.may_ask(question, MANIFEST_DIGEST)?;
        if self.answers.len() == LOOKUPS_MAX {
            return Err(Failure::not_asked(Class::Limit, MANIFEST_DIGEST));
        }
        // An answer that is no digest is not understood.
        let digest = self.client.digest(question.image);
        let checked = digest.and_then(|digest| {
            if is_digest(&digest) {
                Ok(digest)
            } else {
                Err(String::new())
            }
        });
        let answer = checked.map_err(|text| self.failed(question, &text, MANIFEST_DIGEST));
        self.answers
            .insert(question.image.to_owned(), answer.clone());
        answer
    }

    /// Asks for the index of an image, as a part of the lookup of its digest.
    ///
    /// # Errors
    /// The host got no index from the registry.
    pub(crate) fn index(&mut self, question: Question<'_>) -> Result<Option<ImageIndex>, Failure> {
        self.may_ask(question, OCI_MANIFEST)?;
        let index = self.client.index(question.image);
        index.map_err(|text| self.failed(question, &text, OCI_MANIFEST))
    }

    fn may_ask(&self, question: Question<'_>, capability: &'static str) -> Result<(), Failure> {
        if self.refused.contains(capability) {
            return Err(Failure::not_asked(Class::NotGranted, capability));
        }
        if self.away.contains(question.registry) {
            return Err(Failure::not_asked(Class::Unreachable, capability));
        }
        Ok(())
    }

    /// Classifies an error. Remembers a registry that gives no answer, or a capability that the host refuses.
    fn failed(&mut self, question: Question<'_>, text: &str, capability: &'static str) -> Failure {
        let failure = Failure::of(text, capability);
        if failure.class == Class::Unreachable {
            self.away.insert(question.registry.to_owned());
        }
        if failure.class == Class::NotGranted {
            self.refused.insert(capability);
        }
        failure
    }
}
