//! The rows of `e2e-tests/rows`: what this policy does, as data. This crate reads them and runs
//! them on the crate, on the module in the embedded host, and in kwctl. `e2e-tests/rows/README.md`
//! says how a row is written.

mod case;
mod host;
mod notation;
mod outcome;
mod random;
mod registry;
mod row;

pub use case::Case;
pub use consistent_pull_policy_promises::policy::Native;
pub use host::{Evaluation, Host, Kwctl};
pub use random::{generator, keeps_promises};
pub use registry::Registries;
pub use row::{Row, rows};
