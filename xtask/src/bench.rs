//! `cargo xtask bench`: what the policy costs, and whether that is within its budgets.
//!
//! policy-server serves each request from a fresh instance of the module, so start-up counts every
//! time, and measuring a warm instance would hide what costs most. Two kinds of figures come out of
//! this. Times are what a person wants to know, and depend on the machine; they are reported, next to
//! those of a policy that does nothing. Instructions, bytes and memory are the same in every run of the
//! same module; these are what `--check` holds against the committed budgets.

pub(crate) mod budgets;
pub(crate) mod environment;
pub(crate) mod guest;
pub(crate) mod instrument;
pub(crate) mod measure;
pub(crate) mod names;
pub(crate) mod plot;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod scenarios;
pub(crate) mod size;
