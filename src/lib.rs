//! consistent-pull-policy: a Kubewarden policy that keeps `imagePullPolicy` consistent between
//! image checks and the containers that they guard.
//!
//! The data moves in one direction:
//!
//! 1. [`request`] reads the admission request. The object becomes a flat list of *places*
//!    ([`pod_spec`]).
//! 2. The [`rules`] work on one [`examination`]. They set the image and the pull policy that each
//!    place should have.
//! 3. The result is a list of [findings and changes](examination_result).
//! 4. [`answer`] writes this result: a message, warnings, annotations or the changed object.
//!
//! This file registers the three functions that a waPC host calls.
//!
//! # Words
//!
//! In the code, each of these words has one meaning. The pages in docs/ explain most of them to users.
//!
//! | word | meaning |
//! | --- | --- |
//! | this policy | the Kubewarden policy in this crate |
//! | pull policy | the value of `imagePullPolicy`, or of an image volume's `pullPolicy` |
//! | strength | the order of pull policies: `Always` > `IfNotPresent` > `Never` |
//! | raise, lower | to replace a pull policy with a stronger one, or with a weaker one |
//! | place | a container of any kind or an image volume: an entry that holds an image reference |
//! | app container | an entry of `spec.containers` |
//! | image check, check | an init container or image volume that only proves that its image can be pulled |
//! | check volume | an image check that is an image volume |
//! | carrier | a container that mounts a check volume |
//! | guarded | an app container (or volume: see `Role::Guarded`) is guarded by the checks of its image |
//! | covered | an image is covered if a check, or an init container that is strong enough, pulls it first |
//! | spelling | the repository of an image reference as text, without normalisation |
//! | written alike | two references of the same image are written alike if they have the same spelling |
//! | server default | the pull policy that the API server fills in if none is set |
//! | lookup | asking a registry, through the host, for the digest and perhaps the platforms of one image |
//! | pin | to write the digest behind a tag into the image |
//! | finding | one thing that is wrong |
//! | repair | the change that corrects a finding |
//! | record | the annotation `consistent-pull-policy/changes`, which lists the changes |
//! | re-apply | a manifest is applied again, and this policy puts the stored values back |
//! | stored object | `oldObject` of an UPDATE |
//! | the copy | a second, validating installation: same settings, but `validatingCopy: true`, `Reject` or `Warn` |

// A panic becomes a WebAssembly trap. Then the request is rejected, the user sees a backtrace, and an
// audit reports a failure of this policy. So no input may lead to a panic.
// A test may panic.
#![cfg_attr(
    not(test),
    deny(
        // A value can be missing. The code has to handle each such case.
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        // A list or a text can be shorter than expected, and a byte index can be inside a character.
        clippy::indexing_slicing,
        clippy::string_slice,
        // Arithmetic wraps silently in a release build, and a wrong number leads to a wrong index.
        clippy::arithmetic_side_effects,
    )
)]

mod answer;
mod document;
mod examination;
mod examination_result;
mod finding;
mod host_registry_client;
pub mod image;
mod kubernetes_container_json;
pub mod lookup;
pub mod pattern;
mod pod_spec;
pub mod pull_policy;
mod request;
mod rule_id;
mod rules;
pub mod settings;
mod shown_text;
pub mod validate;

use kubewarden_policy_sdk::protocol_version_guest;
use wapc_guest::{CallResult, register_function};

/// waPC calls this once, when the module is instantiated. Only this export needs unsafe code.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate::validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    validate::validate(payload, &mut host_registry_client::HostRegistryClient)
}
