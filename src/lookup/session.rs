//! The lookups of one request: their limit, and what prevents more of them.

use std::collections::BTreeSet;

use super::client::Client;
use super::failure::{Cause, Failure};
use crate::image::{Reference, is_digest};

/// The largest number of lookups in one request.
const LOOKUPS_MAX: usize = 20;

/// The lookups of one request.
pub(crate) struct Session<'c> {
    client: &'c mut dyn Client,
    /// How many lookups were made.
    made: usize,
    /// The hosts of the registries that gave no answer, in the form in which hosts are compared.
    unreachable: BTreeSet<String>,
    /// Whether the host doesn't grant lookups.
    is_refused: bool,
}

impl<'c> Session<'c> {
    /// A session without any lookup yet.
    pub(crate) fn new(client: &'c mut dyn Client) -> Self {
        Self {
            client,
            made: 0,
            unreachable: BTreeSet::new(),
            is_refused: false,
        }
    }

    /// Asks for the digest of an image.
    ///
    /// # Errors
    /// The lookup failed, or it was not made.
    pub(crate) fn digest(&mut self, image: Reference<'_>) -> Result<String, Failure> {
        let fail = |cause| Failure::new(cause, image);
        if image.has_ambiguous_host() {
            return Err(fail(Cause::AmbiguousHost));
        }
        if self.is_refused {
            return Err(fail(Cause::NotGranted));
        }
        if self.unreachable.contains(&image.registry()) {
            return Err(fail(Cause::Unreachable));
        }
        if self.made >= LOOKUPS_MAX {
            return Err(fail(Cause::Limit));
        }
        // The host's settings know registries by their written names.
        let text = match self.client.digest(&image.as_written()) {
            Ok(digest) if is_digest(&digest) => {
                self.made = self.made.saturating_add(1);
                return Ok(digest);
            }
            Ok(_) => String::new(),
            Err(text) => text,
        };
        let failure = Failure::read(&text, image);
        if failure.cause != Cause::NoName {
            self.made = self.made.saturating_add(1);
        }
        self.is_refused |= failure.cause == Cause::NotGranted;
        if failure.cause == Cause::Unreachable {
            self.unreachable.insert(image.registry());
        }
        Err(failure)
    }
}
