//! consistent-pull-policy: a Kubewarden policy that keeps `imagePullPolicy` consistent between
//! image checks and the containers that they guard.
//!
//! The data moves one way: [`request`] reads what came in, [`rules`] say what every field should
//! be, [`answer`] turns that into a message or into the changed object. This file is the door to
//! waPC, and nothing else.

pub mod answer;
pub mod edit;
pub mod evaluate;
pub mod host;
pub mod image;
pub mod json;
pub mod pattern;
pub mod pod;
pub mod pull_policy;
pub mod request;
pub mod rules;
pub mod sentence;
pub mod settings;

use kubewarden_policy_sdk::protocol_version_guest;
use wapc_guest::{CallResult, register_function};

/// waPC calls this once, when the module is instantiated.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", evaluate::validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    evaluate::validate(payload, &mut host::Host)
}
