//! Who asks registries: the host, through its capability `oci/v1/manifest_digest`.

use kubewarden_policy_sdk::host_capabilities::oci::get_manifest_digest;

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

/// The host capability `oci/v1/manifest_digest`.
pub(crate) struct Host;

impl Client for Host {
    fn digest(&mut self, image: &str) -> Result<String, String> {
        let answer = get_manifest_digest(image);
        answer
            .map(|answer| answer.digest)
            .map_err(|error| error.to_string())
    }
}
