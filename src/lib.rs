//! consistent-pull-policy: a Kubewarden policy that keeps `imagePullPolicy` consistent between
//! image checks and the containers that they guard.
//!
//! # From a request to its answer
//!
//! 1. [`request`] reads the admission request, and [`settings`] the settings.
//! 2. [`pod`] reads the Pod into a list of its *pulls*: its containers and image volumes, each with
//!    the moment at which a kubelet pulls it (`pod/start_order.rs`).
//! 3. The [`rules`] run one after another. Each changes images and pull policies of pulls, or adds
//!    new checks to the list. It adds an *entry* (`pod/entry.rs`) to the Pod for each change, and for
//!    each thing that it found and could not change. [`lookup`] asks registries for them. Nothing
//!    else comes out of the rules.
//! 4. [`answer`] writes everything from the entries: the message, the warnings, the annotations and
//!    the changed object. `answer/verdict.rs` has the table of what each mode and a pod template do
//!    with each kind of entry.
//!
//! [`validate`] puts the steps together. A new rule is a file in `rules/`, and two lines in
//! `rules.rs`: its `mod`, and its call at its position in `run`. A new kind of entry is a variant of
//! `What`, and says in `pod/entry.rs`, `answer/verdict.rs` and `answer/changes.rs` what becomes of it.
//! A module imports only modules that come before it in this order: `json`, `sanitize`, `image`,
//! `settings`, `request`, `lookup`, `pod`, `rules`, `answer`, `validate`.
//!
//! # Words
//!
//! | word | meaning |
//! | --- | --- |
//! | pull policy | the value of `imagePullPolicy`, or of an image volume's `pullPolicy` |
//! | strength | the order of pull policies: `Always` > `IfNotPresent` > `Never` |
//! | raise, lower | to replace a pull policy with a stronger one, or with a weaker one |
//! | pull | a container of any kind or an image volume: an entry of the Pod that holds an image reference |
//! | app container | an entry of `spec.containers` |
//! | image check, check | an init container or image volume that only proves that its image can be pulled |
//! | check volume | an image check that is an image volume |
//! | needs a check | each app container; if added checks are image volumes, also what starts after the first init container |
//! | work | what a check protects: the app containers; if added checks are image volumes, everything from the first init container on |
//! | a pull gates the Pod | the work begins after this pull |
//! | covered | an image is covered if a check, or an init container that is strong enough, pulls it and gates the Pod |
//! | pin | to write the digest behind a tag into the image |
//! | finding | an entry about something that is wrong |
//! | record | the annotation `consistent-pull-policy/changes`, which lists the changes |

// A panic becomes a WebAssembly trap. Then the request is rejected, the user sees a backtrace, and
// an audit reports a failure of this policy. So no input may lead to a panic. A test may panic.
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
pub mod image;
mod json;
pub mod lookup;
mod pod;
mod request;
mod rules;
mod sanitize;
pub mod settings;
pub mod validate;

use kubewarden_policy_sdk::protocol_version_guest;
#[cfg(target_family = "wasm")]
use lol_alloc::{AssumeSingleThreaded, LeakingAllocator};
use wapc_guest::{CallResult, register_function};

/// Frees nothing, because an instance of the module serves one request. DESIGN.md has the figures.
#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
#[global_allocator]
static ALLOCATOR: AssumeSingleThreaded<LeakingAllocator> =
    // SAFETY: the module has one thread.
    unsafe { AssumeSingleThreaded::new(LeakingAllocator::new()) };

/// waPC calls this once, when the module is instantiated. Only this export and the
/// allocator need unsafe code.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate::validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    validate::validate(payload, &mut lookup::ask_host)
}
