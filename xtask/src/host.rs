//! The host of a policy: it runs a module, answers its host calls, and makes the admission response that an API
//! server would get.

pub mod evaluation;
pub mod input;
pub mod module;
pub mod registry;
#[cfg(feature = "registry")]
pub mod registry_client;
pub mod session;
