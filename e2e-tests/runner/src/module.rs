//! This policy's module in the embedded host.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use consistent_pull_policy_promises::policy::{HostCall, Policy};
use xtask::host::module;

/// A module of this policy.
pub struct Module(module::Module);

impl Module {
    /// Reads a module from a file, and compiles it.
    ///
    /// # Errors
    /// If there is no such file, or if it is no module.
    pub fn load(path: &Path) -> Result<Self> {
        module::Module::load(path).map(Self)
    }

    fn call(
        &self,
        operation: &str,
        payload: &[u8],
        host: Arc<HostCall>,
    ) -> Result<Vec<u8>, String> {
        let host: module::Capabilities = Arc::new(move |call: module::HostCall<'_>| {
            host(call.namespace, call.operation, call.payload)
        });
        let answer = self.0.call(&host, operation, payload);
        answer
            .map(|answer| answer.bytes)
            .map_err(|error| format!("{error:#}"))
    }
}

impl Policy for Module {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        self.call("validate", payload, host)
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        self.call(
            "validate_settings",
            settings,
            Arc::new(|_, _, _| Ok(Vec::new())),
        )
    }
}
