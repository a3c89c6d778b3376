//! This policy's crate, compiled for this machine, as a [`Policy`].

use std::sync::Arc;

use consistent_pull_policy::{lookup, validate};
use consistent_pull_policy_promises::policy::{HostCall, Policy};
use oci_spec::image::ImageIndex;
use serde_json::Value;

/// The crate. The rows run on it in seconds, and tools for mutants and coverage can watch it.
pub struct Native;

struct Client(Arc<HostCall>);

impl Client {
    fn ask(&self, operation: &str, image: &str) -> Result<Vec<u8>, String> {
        (self.0)("oci", operation, Value::from(image).to_string().as_bytes())
    }
}

impl lookup::Client for Client {
    fn digest(&mut self, image: &str) -> Result<String, String> {
        let answer = self.ask("v1/manifest_digest", image)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        Ok(answer["digest"].as_str().unwrap_or_default().to_owned())
    }

    fn index(&mut self, image: &str) -> Result<Option<ImageIndex>, String> {
        let answer = self.ask("v1/oci_manifest", image)?;
        Ok(serde_json::from_slice(&answer).ok())
    }
}

impl Policy for Native {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        validate::validate(payload, &mut Client(host)).map_err(|error| error.to_string())
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        validate::validate_settings(settings).map_err(|error| error.to_string())
    }
}
