//! consistent-pull-policy: a Kubewarden policy that keeps `imagePullPolicy` consistent between
//! image checks and the containers that they guard.
//!
//! The data moves one way: [`request`] reads what came in, [`rules`] say what every field should
//! be, [`answer`] turns that into a message or into the changed object. This file is the door to
//! waPC, and nothing else.

// A panic is a trap: the user sees a backtrace, the audit a failure of the policy, and a cluster
// with `failurePolicy: Fail` no Pod at all. So nothing that input decides may panic.
#![deny(
    // What is not there has an answer of its own.
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    // A list or text may be shorter than it looks, and a cut may fall inside a character.
    clippy::indexing_slicing,
    clippy::string_slice,
    // A release build wraps in silence, and what is counted wrongly is cut wrongly.
    clippy::arithmetic_side_effects,
    // One export needs it, below.
    unsafe_code
)]
// A test that finds nothing where something should be has to stop.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

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
