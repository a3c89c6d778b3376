//! The host's capabilities that this policy uses, through the SDK.

use kubewarden_policy_sdk::error::Error;
use kubewarden_policy_sdk::host_capabilities::oci::{
    OciManifestResponse, get_manifest, get_manifest_digest,
};
use oci_spec::image::ImageIndex;

use super::Client;

/// The host capabilities `oci/v1/manifest_digest` and `oci/v1/oci_manifest`.
pub(crate) struct Host;

impl Client for Host {
    fn digest(&mut self, image: &str) -> Result<String, String> {
        get_manifest_digest(image)
            .map(|answer| answer.digest)
            .map_err(|error| error.to_string())
    }

    fn index(&mut self, image: &str) -> Result<Option<ImageIndex>, String> {
        match get_manifest(image) {
            Ok(OciManifestResponse::ImageIndex(index)) => Ok(Some(*index)),
            // The manifest of a single image doesn't name the image's platform, and one of an unknown form can't be read.
            Ok(OciManifestResponse::Image(_)) | Err(Error::Deserialization { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
