//! Lookups: questions to registries, through the host, within the limits of one request.

mod failure;
mod host_errors;

use std::collections::BTreeSet;

use kubewarden_policy_sdk::host_capabilities::oci::get_manifest_digest;

use self::failure::Cause;
pub(crate) use self::failure::{Class, Failure};
use crate::image::{Reference, is_digest};

/// The largest number of lookups in one request.
const LOOKUPS_MAX: usize = 20;

/// Asks a registry for the digest of the manifest, or of the index, behind an image reference. The
/// error is the host's own text. It is classified and never shown.
pub type Client<'c> = dyn FnMut(&str) -> Result<String, String> + 'c;

/// The client of the module: the host capability `oci/v1/manifest_digest`, a HEAD request.
pub(crate) fn ask_host(image: &str) -> Result<String, String> {
    let answer = get_manifest_digest(image).map_err(|error| error.to_string())?;
    Ok(answer.digest)
}

/// The lookups of one request.
pub(crate) struct Session<'c> {
    client: &'c mut Client<'c>,
    /// How many lookups were made.
    made: usize,
    /// The hosts of the registries that gave no answer or HTTP 5xx, in the form in which hosts are
    /// compared.
    unreachable: BTreeSet<String>,
    /// Whether the host doesn't grant lookups.
    is_not_granted: bool,
}

impl<'c> Session<'c> {
    /// A session without any lookup yet.
    pub fn new(client: &'c mut Client<'c>) -> Self {
        Self {
            client,
            made: 0,
            unreachable: BTreeSet::new(),
            is_not_granted: false,
        }
    }

    /// Asks for the digest of an image.
    ///
    /// # Errors
    /// The lookup failed, or it was not made.
    pub fn digest(&mut self, image: Reference) -> Result<String, Failure> {
        if let Some(cause) = self.obstacle(image) {
            return Err(cause.into());
        }
        // The host's settings know registries by their written names.
        let answer = match (self.client)(&image.lookup_name()) {
            Ok(digest) if is_digest(&digest) => Ok(digest),
            answer => Err(host_errors::read(&answer.err().unwrap_or_default())),
        };
        match answer.as_ref().map_err(|failure| failure.cause) {
            // The host has asked nobody.
            Err(Cause::UnreadableName) => return answer,
            Err(Cause::NotGranted) => self.is_not_granted = true,
            Err(Cause::Unreachable | Cause::ServerError) => {
                self.unreachable.insert(image.registry());
            }
            _ => {}
        }
        self.made = self.made.saturating_add(1);
        answer
    }

    /// Why an image can't be asked for.
    fn obstacle(&self, image: Reference) -> Option<Cause> {
        if image.has_ambiguous_host() {
            Some(Cause::AmbiguousHost)
        } else if self.is_not_granted {
            Some(Cause::NotGranted)
        } else if self.unreachable.contains(&image.registry()) {
            Some(Cause::Unreachable)
        } else {
            (self.made >= LOOKUPS_MAX).then_some(Cause::Limit)
        }
    }
}
