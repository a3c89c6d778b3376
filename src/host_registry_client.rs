//! The host's capabilities that this policy uses: lookups in registries, through the SDK.

use kubewarden_policy_sdk::error::Error;
use kubewarden_policy_sdk::host_capabilities::oci::{
    OciManifestResponse, get_manifest, get_manifest_digest,
};
use oci_spec::image::Platform;

use crate::lookup::RegistryClient;

/// The host capabilities `oci/v1/manifest_digest` and `oci/v1/oci_manifest`.
pub(crate) struct HostRegistryClient;

impl RegistryClient for HostRegistryClient {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        get_manifest_digest(image)
            .map(|response| response.digest)
            .map_err(|error| error.to_string())
    }

    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String> {
        match get_manifest(image) {
            Ok(OciManifestResponse::ImageIndex(index)) => {
                let manifests = index.manifests().iter();
                let platforms = manifests.filter_map(|manifest| manifest.platform().clone());
                Ok(Some(platforms.collect()))
            }
            // The platforms are unknown: the manifest of a single image doesn't name the image's
            // platform, and a manifest of an unknown form can't be read.
            Ok(OciManifestResponse::Image(_)) | Err(Error::Deserialization { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
