//! The host's capability that this policy uses, through the SDK.

use kubewarden_policy_sdk::host_capabilities::oci::get_manifest_digest;

use super::Client;

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
