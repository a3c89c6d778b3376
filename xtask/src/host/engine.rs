//! The interface of the host's WebAssembly engines.

use wapc::WebAssemblyEngineProvider;

/// The error type of waPC's engines.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The text by which an interruption differs from any other trap. `wasmtime-provider` writes it.
pub(crate) const INTERRUPTED: &str = "guest code interrupted, execution deadline exceeded";

/// A module that is ready to run. Each call gets a new instance, as in policy-server.
pub(crate) trait InstanceSource: Send + Sync {
    /// A new instance, not yet started.
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError>;
}
