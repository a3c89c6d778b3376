//! A host of Kubewarden's policies for tests and tools, in this program: it runs a module, answers
//! its host calls, and makes the admission responses that an API server would get. Also the
//! metadata in a module.
//!
//! Nothing here knows this policy.

pub mod host;
pub mod metadata;
