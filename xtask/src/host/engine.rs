//! What each WebAssembly engine of the host has in common.

use wapc::WebAssemblyEngineProvider;

/// The error type of waPC's engines.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// `wasmtime-provider` tells an interruption from any other trap by these words alone. The other
/// engine uses the same words.
pub(crate) const INTERRUPTED: &str = "guest code interrupted, execution deadline exceeded";

/// A module that is ready to run. Each call gets a new instance, as in policy-server.
pub(crate) trait InstanceSource: Send + Sync {
    /// A new instance, not yet started.
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError>;
}
