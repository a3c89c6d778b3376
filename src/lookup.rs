//! Lookups: questions to registries, through the host, within the limits of one request.

mod failure;
mod host;
mod session;

use oci_spec::image::ImageIndex;

pub(crate) use self::failure::{Class, Failure};
pub(crate) use self::host::Host;
pub(crate) use self::session::{Question, Session};

/// A client of registries. In the module it is the host, with its capabilities `oci/v1/manifest_digest` and
/// `oci/v1/oci_manifest`.
pub trait Client {
    /// The digest of the manifest, or of the index, behind an image reference. The host asks with a HEAD request.
    ///
    /// # Errors
    /// The host's own error text. It is classified and never shown.
    fn digest(&mut self, image: &str) -> Result<String, String>;

    /// The index of an image. None if the image has no index that can be read.
    ///
    /// # Errors
    /// The host's own error text. It is classified and never shown.
    fn index(&mut self, image: &str) -> Result<Option<ImageIndex>, String>;
}
