//! consistent-pull-policy: a Kubewarden policy that keeps `imagePullPolicy` consistent between
//! image checks and the containers that they guard.
//!
//! The data moves one way:
//!
//! 1. [`request`] reads the admission request. The object becomes a flat list of *places*
//!    ([`pod`]).
//! 2. The [`rules`] work on one [`examination`]. They set the image and the pull policy that each
//!    place should have.
//! 3. The result is one [`outcome`].
//! 4. [`answer`] writes the outcome: a message, warnings, annotations or the changed object.
//!
//! This file holds waPC's three functions, and nothing else.
//!
//! # Words
//!
//! The code uses these words in one meaning. docs/rules.md explains them to users.
//!
//! | word | meaning | | --- | --- | | this policy | the Kubewarden policy in this crate | | pull
//! policy | the value of `imagePullPolicy`, or of an image volume's `pullPolicy` | | strength | the
//! order of pull policies: `Always` > `IfNotPresent` > `Never`. To *raise* a pull policy is to
//! replace it with a stronger one. To *lower* it is to replace it with a weaker one | | place | an
//! entry of the object that holds an image reference: a container, an init container, an ephemeral
//! container or an image volume | | app container | an entry of `spec.containers` | | image check,
//! check | an init container or an image volume that exists only to prove that its image can be
//! pulled | | check volume | an image check that is an image volume | | carrier | a container that
//! mounts a check volume | | guarded | an app container is guarded by the checks of its image | |
//! covered | an image is covered if a check or another init container pulls it before the app
//! starts | | written alike, spelling | two references of the same image are written alike, or have
//! the same spelling, if they have the same repository as text, without normalisation | | server
//! default | the pull policy that the API server fills in if none is set | | lookup | one question
//! to a registry, through the host, about one image | | pin | to write the digest behind a tag into
//! the image | | finding | one thing that is wrong | | repair | the change that corrects a finding
//! | | record | the annotation `consistent-pull-policy/changes`, which lists the changes | |
//! re-apply | a manifest is applied again, and this policy puts the stored values back | | stored
//! object | `oldObject` of an UPDATE | | the copy | the second, validating installation of this
//! policy. It has the same settings, except `mode: Reject` and `registry.maxLookups: 0` |

// A panic is a trap. The user sees a backtrace, an audit sees a failure of this policy, and a
// cluster with `failurePolicy: Fail` gets no Pods. So no input may lead to a panic.
#![deny(
    // A value can be missing. Each such case needs an answer of its own.
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    // A list or a text can be shorter than expected, and a cut can fall inside a character.
    clippy::indexing_slicing,
    clippy::string_slice,
    // Arithmetic wraps silently in a release build, and a wrong count leads to a wrong cut.
    clippy::arithmetic_side_effects,
    // Only the export below needs it.
    unsafe_code
)]
// A test may panic.
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
pub mod effective_mode;
pub mod evaluate;
pub mod examination;
pub mod host;
pub mod image;
pub mod json;
pub mod lookup;
pub mod outcome;
pub mod pattern;
pub mod pod;
pub mod pull_policy;
pub mod request;
pub mod rules;
pub mod sentence;
pub mod settings;
pub mod text_edit;

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
