//! Makes this policy's crate, compiled for this machine, a [`Policy`] that the tests can run. Also reads
//! the environment variables that control tests.

use std::sync::Arc;

use consistent_pull_policy::lookup::RegistryClient;
use consistent_pull_policy::validate;
use consistent_pull_policy_spec::differential::{HostCall, Policy};
use oci_spec::image::{ImageIndex, Platform};
use serde_json::Value;

/// Calls the functions of the crate directly, without WebAssembly. A closure of the test answers the
/// crate's calls to the host.
pub(crate) struct Native;

struct Host(Arc<HostCall>);

impl Host {
    fn ask(&self, operation: &str, image: &str) -> Result<Vec<u8>, String> {
        (self.0)("oci", operation, Value::from(image).to_string().as_bytes())
    }
}

impl RegistryClient for Host {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        let answer = self.ask("v1/manifest_digest", image)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        Ok(answer["digest"].as_str().unwrap_or_default().to_owned())
    }

    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String> {
        let answer = self.ask("v1/oci_manifest", image)?;
        let index: Option<ImageIndex> = serde_json::from_slice(&answer).ok();
        Ok(index.map(|index| {
            let manifests = index.manifests().iter();
            manifests.filter_map(|one| one.platform().clone()).collect()
        }))
    }
}

impl Policy for Native {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        validate::validate(payload, &mut Host(host)).map_err(|error| error.to_string())
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        validate::validate_settings(settings).map_err(|error| error.to_string())
    }
}

/// The number in an environment variable, or else a default.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}
