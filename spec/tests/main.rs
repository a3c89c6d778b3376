//! The tests of the specification, and of this policy's crate against it.

mod common;
#[path = "../../tests/common/every_setting.rs"]
mod every_setting;

mod container_order;
mod corpus;
mod generated_settings;
mod native;
mod random_promises;
mod references;
mod wrong_policies;
