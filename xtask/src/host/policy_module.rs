//! A policy's module: it is loaded once, and each call runs in a new instance, as in policy-server.
//! So no test and no benchmark depends on the state of an earlier call.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use wapc::WapcHost;

use super::capabilities::{Capabilities, WapcHostCall, nothing_granted};
use super::request::AdmissionRequest;
use super::settings::Settings;
use super::wapc_engine::InstanceSource;
use super::wasmi_engine::InterpretedModule;
#[cfg(feature = "wasmtime")]
use super::wasmtime_engine::CompiledModule;

/// The WebAssembly engine that runs a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Engine {
    /// wasmi, an interpreter: a module starts at once.
    #[default]
    Interpreter,
    /// wasmtime, a compiler, as in Kubewarden's hosts: a module runs fast after it is compiled.
    #[cfg(feature = "wasmtime")]
    Compiler,
}

impl Engine {
    /// The engine that evaluates the most requests per second. wasmtime keeps compiled modules on disk,
    /// so it even starts a module faster than wasmi, except for the first time.
    #[cfg(feature = "wasmtime")]
    pub(crate) const FASTEST: Self = Self::Compiler;
    /// The engine that evaluates the most requests per second.
    #[cfg(all(feature = "registry", not(feature = "wasmtime")))]
    pub(crate) const FASTEST: Self = Self::Interpreter;
}

/// A policy's module. It can be called any number of times, from any thread.
pub(crate) struct PolicyModule(Box<dyn InstanceSource>);

/// The answer of a policy's `validate`.
#[derive(Debug, Deserialize)]
pub(crate) struct ValidationResponse {
    /// Whether the request is accepted.
    pub(crate) accepted: bool,
    /// The reason of a rejection.
    pub(crate) message: Option<String>,
    /// The HTTP code of a rejection.
    pub(crate) code: Option<u16>,
    /// The object with the policy's changes.
    pub(crate) mutated_object: Option<Value>,
    /// Annotations for the API server's audit log.
    pub(crate) audit_annotations: Option<BTreeMap<String, String>>,
    /// Lines that the API server shows to the user.
    pub(crate) warnings: Option<Vec<String>>,
}

impl PolicyModule {
    /// Reads a module from a file. See [`PolicyModule::new`].
    ///
    /// # Errors
    /// When there is no such file, or when [`PolicyModule::new`] fails.
    pub(crate) fn load(path: &Path, engine: Engine) -> Result<Self> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("cannot read module {}", path.display()))?;
        Self::new(&bytes, engine).with_context(|| format!("cannot load module {}", path.display()))
    }

    /// Loads a module from its bytes.
    ///
    /// # Errors
    /// When the engine refuses the bytes, for example because they are no module, or because the module
    /// imports anything but waPC's functions.
    pub(crate) fn new(bytes: &[u8], engine: Engine) -> Result<Self> {
        match engine {
            Engine::Interpreter => InterpretedModule::new(bytes)
                .map(Self::of)
                .map_err(|error| anyhow!("{error}")),
            #[cfg(feature = "wasmtime")]
            Engine::Compiler => CompiledModule::with_fuel(bytes).map(Self::of),
        }
    }

    pub(crate) fn of(instances: impl InstanceSource + 'static) -> Self {
        Self(Box::new(instances))
    }

    /// Calls one waPC function on a new instance. `capabilities` answers the instance's host calls.
    ///
    /// # Errors
    /// When the guest gives no answer.
    pub(crate) fn call(
        &self,
        capabilities: &Capabilities,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>> {
        let capabilities = Arc::clone(capabilities);
        let answer = move |_, _: &str, namespace: &str, operation: &str, payload: &[u8]| {
            capabilities(WapcHostCall {
                namespace,
                operation,
                payload,
            })
            .map_err(Into::into)
        };
        WapcHost::new(self.0.fresh(), Some(Box::new(answer)))
            .map_err(|error| anyhow!("the module does not start: {error}"))?
            .call(operation, payload)
            .map_err(|error| anyhow!("{error}"))
    }

    /// Calls `validate` with `{"request": ..., "settings": ...}` and returns the policy's unchanged
    /// answer: a `ValidationResponse` in JSON.
    ///
    /// # Errors
    /// As [`PolicyModule::call`].
    pub(crate) fn validate(&self, capabilities: &Capabilities, payload: &[u8]) -> Result<Vec<u8>> {
        self.call(capabilities, "validate", payload)
    }

    /// Checks that the policy speaks version 1 of Kubewarden's protocol, the only version.
    pub(crate) fn check_protocol(&self) -> Result<()> {
        let answer = self.call(&nothing_granted(), "protocol_version", &[])?;
        ensure!(
            answer == b"\"v1\"",
            "the policy answered protocol_version with {:?}",
            String::from_utf8_lossy(&answer)
        );
        Ok(())
    }
}

/// The payload of `validate` for a request. The payload is made from a `Value`, as in Kubewarden's
/// hosts, so that the guest sees the keys of each object sorted.
pub(crate) fn payload(request: &AdmissionRequest, settings: &Settings) -> Result<Vec<u8>> {
    let payload = json!({ "request": request, "settings": settings });
    serde_json::to_vec(&payload).context("cannot serialise the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINES: &[Engine] = &[
        Engine::Interpreter,
        #[cfg(feature = "wasmtime")]
        Engine::Compiler,
    ];

    #[test]
    fn a_module_with_a_foreign_import_is_refused() {
        let wat = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#;
        let bytes = wat::parse_str(wat).expect("a module");
        for &engine in ENGINES {
            assert!(PolicyModule::new(&bytes, engine).is_err(), "{engine:?}");
        }
    }

    #[test]
    fn each_call_gets_a_fresh_instance() {
        // The answer has one byte for each call that this instance got.
        let guest = r#"(module
            (import "wapc" "__guest_response" (func $response (param i32 i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "ab")
            (func (export "__guest_call") (param i32 i32) (result i32)
                (i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2048)) (i32.const 1)))
                (call $response (i32.const 0) (i32.load (i32.const 2048))) (i32.const 1)))"#;
        let bytes = wat::parse_str(guest).expect("a module");
        for &engine in ENGINES {
            let guest = PolicyModule::new(&bytes, engine).expect("a module");
            for _ in 0..3 {
                let answer = guest.call(&nothing_granted(), "x", b"");
                assert_eq!(answer.expect("call"), b"a");
            }
        }
    }
}
