//! The interface of the host's WebAssembly engines.

use wapc::WebAssemblyEngineProvider;

/// The error type of waPC's engines.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a guest call that is interrupted. Both `wasmi_engine.rs` and `wasmtime-provider` write this
/// text. There is one exception: if the start of an instance is interrupted, `wasmtime-provider` writes
/// another text.
pub(crate) const INTERRUPTED: &str = "guest code interrupted, execution deadline exceeded";

/// A module that is ready to run. Each call gets a new instance, as in policy-server.
pub(crate) trait InstanceSource: Send + Sync {
    /// A new instance that is not started yet.
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError>;
}
