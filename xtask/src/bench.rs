//! The cost of this policy, and its budgets.
//!
//! policy-server serves each request from a fresh instance of the module, so each request pays for the
//! start-up. A measurement of an instance that has been used already would hide the largest cost.
//!
//! There are two kinds of figures. Times depend on the machine. They are shown beside those of a policy
//! that does nothing. Instructions, bytes and memory are the same in every run of a module. Only these
//! are compared with the budgets.

pub(crate) mod budgets;
pub(crate) mod hostile;
pub(crate) mod request_cost;
pub(crate) mod request_times;
pub(crate) mod scenarios;
