//! Lookups: questions to registries, through the host, within the limits of one request.

mod failure;
mod kubewarden;
mod session;
mod words;

pub(crate) use self::failure::{Class, Failure};
pub(crate) use self::kubewarden::Host;
pub(crate) use self::session::Session;

/// A client of registries. In the module it is the host, with its capability
/// `oci/v1/manifest_digest`.
pub trait Client {
    /// The digest of the manifest, or of the index, behind an image reference. The host asks with a
    /// HEAD request.
    ///
    /// # Errors
    /// The host's own error text. It is classified and never shown.
    fn digest(&mut self, image: &str) -> Result<String, String>;
}
