//! A policy that parses the images of a Pod's containers and init containers with oci-spec, and accepts the Pod.

use kubewarden_policy_sdk::{accept_request, protocol_version_guest, reject_request};
use oci_spec::distribution::Reference;
use serde_json::Value;
use wapc_guest::{CallResult, register_function};

#[unsafe(no_mangle)]
extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", |_| Ok(br#"{"valid":true}"#.to_vec()));
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    let review: Value = serde_json::from_slice(payload)?;
    let spec = &review["request"]["object"]["spec"];
    let places = ["containers", "initContainers"].map(|list| spec[list].as_array());
    for place in places.into_iter().flatten().flatten() {
        let image = place["image"].as_str().unwrap_or_default();
        if let Err(error) = image.parse::<Reference>() {
            return reject_request(Some(error.to_string()), None, None, None);
        }
    }
    accept_request()
}
