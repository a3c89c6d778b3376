//! The host of a policy: it runs a module, answers its host calls, and makes the admission response
//! that an API server would get.

pub mod evaluation;
pub mod input;
pub mod module;
pub mod registry;
pub mod session;
