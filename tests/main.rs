//! The tests of this policy's crate. They are one program, because Cargo links each program with all packages.
//! `cargo test --test policy weak_check` runs the tests of one file.

mod common;

mod answer_texts;
mod changed_object;
mod comparison;
mod disallowed_policy;
mod documentation;
mod every_setting_is_listed;
mod examples;
mod idempotence;
mod image;
mod malformed_requests;
mod network_phrases;
mod prefilter;
mod rancher_form;
mod record;
mod registry;
mod registry_failures;
mod settings;
mod stuck_pull;
mod validating_copy;
mod weak_check;
