//! The host of a policy: it runs a module, answers its host calls, and makes the admission response
//! that an API server would get.

pub(crate) mod capabilities;
#[cfg(feature = "registry")]
pub(crate) mod evaluation;
#[cfg(feature = "registry")]
pub(crate) mod policy_artifact;
pub(crate) mod policy_module;
#[cfg(feature = "registry")]
pub(crate) mod registry_calls;
#[cfg(feature = "registry")]
pub(crate) mod registry_client;
pub(crate) mod request;
#[cfg(feature = "registry")]
pub(crate) mod session;
pub(crate) mod settings;
#[cfg(feature = "registry")]
pub(crate) mod transcript;
pub(crate) mod wapc_engine;
mod wasmi_engine;
#[cfg(feature = "wasmtime")]
pub(crate) mod wasmtime_engine;
