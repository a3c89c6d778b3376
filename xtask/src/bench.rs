//! The cost of this policy, and its budgets.
//!
//! policy-server serves each request with a new instance of the module, so each request pays for
//! the start-up. A measurement of an instance's second call would hide this cost.
//!
//! There are two kinds of figures. Times depend on the machine, and are shown beside the times of a
//! policy that accepts every request. Instructions, bytes and memory are the same in every run of a
//! module, so only these three are compared with the budgets.

pub(crate) mod budgets;
pub(crate) mod pairs;
pub(crate) mod request_cost;
pub(crate) mod request_times;
pub(crate) mod scenarios;
