//! A policy's module: it is loaded once, and each call runs in a new instance, as in policy-server.
//! So no test and no benchmark depends on the state of an earlier call.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::json;
use wapc::WapcHost;

use super::capabilities::{Capabilities, WapcHostCall, nothing_granted};
use super::engine::{INTERRUPTED, InstanceSource};
use super::request::AdmissionRequest;
use super::response::{AdmissionResponse, ValidationResponse};
use super::settings::Settings;
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
    #[cfg(all(
        any(feature = "policy", feature = "registry"),
        not(feature = "wasmtime")
    ))]
    pub(crate) const FASTEST: Self = Self::Interpreter;
}

/// A policy's module. It can be called any number of times, from any thread.
pub(crate) struct PolicyModule {
    instances: Box<dyn InstanceSource>,
}

/// The reason why a call into the module gave no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The module could not be instantiated, or failed while it started.
    Start(String),
    /// The call exceeded the time limit.
    Interrupted,
    /// The call failed in another way: the guest reported an error or trapped, for example. The text is
    /// waPC's.
    Failed(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the module does not start: {error}"),
            Self::Interrupted => f.write_str(
                "Policy execution interrupted because it exceeded the allowed execution time",
            ),
            Self::Failed(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for CallError {}

/// The policy's answer about its settings.
#[derive(Debug, Deserialize)]
pub(crate) struct SettingsValidation {
    /// Whether the policy accepts the settings.
    pub(crate) valid: bool,
    /// The reasons why the policy doesn't accept the settings.
    pub(crate) message: Option<String>,
}

impl PolicyModule {
    /// Reads a module from a file. See [`PolicyModule::new`].
    ///
    /// # Errors
    /// When there is no such file, or when [`PolicyModule::new`] fails.
    pub(crate) fn load(path: &Path, engine: Engine, time_limit: Option<Duration>) -> Result<Self> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("cannot read module {}", path.display()))?;
        Self::new(&bytes, engine, time_limit)
            .with_context(|| format!("cannot load module {}", path.display()))
    }

    /// Loads a module from its bytes. Each call into the guest is interrupted after `time_limit`, but never
    /// during a host call: then the interruption waits until the host call returns.
    ///
    /// # Errors
    /// When the engine refuses the bytes, for example because they are no module, or because the module
    /// imports anything but waPC's functions.
    pub(crate) fn new(bytes: &[u8], engine: Engine, time_limit: Option<Duration>) -> Result<Self> {
        Ok(match engine {
            Engine::Interpreter => Self::of(
                InterpretedModule::new(bytes, time_limit).map_err(|error| anyhow!("{error}"))?,
            ),
            #[cfg(feature = "wasmtime")]
            Engine::Compiler => Self::of(
                CompiledModule::new(bytes, time_limit).map_err(|error| anyhow!("{error:#}"))?,
            ),
        })
    }

    pub(crate) fn of(instances: impl InstanceSource + 'static) -> Self {
        Self {
            instances: Box::new(instances),
        }
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
    ) -> Result<Vec<u8>, CallError> {
        let provider = self
            .instances
            .fresh()
            .map_err(|error| CallError::Start(error.to_string()))?;
        let capabilities = Arc::clone(capabilities);
        let answer = move |_, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
            capabilities(WapcHostCall {
                binding,
                namespace,
                operation,
                payload,
            })
            .map_err(Into::into)
        };
        let instance = WapcHost::new(provider, Some(Box::new(answer)))
            .map_err(|error| CallError::Start(error.to_string()))?;
        instance.call(operation, payload).map_err(|error| {
            let text = error.to_string();
            if text.contains(INTERRUPTED) {
                CallError::Interrupted
            } else {
                CallError::Failed(text)
            }
        })
    }

    /// Calls `validate` with `{"request": ..., "settings": ...}` and returns the policy's unchanged
    /// answer: a `ValidationResponse` in JSON.
    ///
    /// # Errors
    /// As [`PolicyModule::call`].
    pub(crate) fn validate(
        &self,
        capabilities: &Capabilities,
        payload: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        self.call(capabilities, "validate", payload)
    }

    /// Calls `validate_settings` with settings in JSON and returns the policy's unchanged answer:
    /// `{"valid": ..., "message": ...}`.
    ///
    /// # Errors
    /// As [`PolicyModule::call`].
    pub(crate) fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
        self.call(&nothing_granted(), "validate_settings", settings)
    }

    /// The version of Kubewarden's protocol that the policy speaks.
    pub(crate) fn protocol_version(&self) -> Result<String> {
        let answer = self
            .call(&nothing_granted(), "protocol_version", &[])
            .context("cannot ask the policy for its protocol version")?;
        match serde_json::from_slice::<String>(&answer) {
            Ok(version) if version == "v1" => Ok(version),
            _ => bail!(
                "the policy answered protocol_version with {:?}; \"v1\" is the only version known",
                String::from_utf8_lossy(&answer)
            ),
        }
    }

    /// Asks the policy whether it accepts these settings.
    pub(crate) fn judge_settings(&self, settings: &Settings) -> Result<SettingsValidation> {
        let payload = serde_json::to_vec(settings).context("cannot serialise the settings")?;
        Ok(match self.validate_settings(&payload) {
            Ok(answer) => {
                serde_json::from_slice(&answer).unwrap_or_else(|error| SettingsValidation {
                    valid: false,
                    message: Some(format!("the policy's answer can't be read: {error}")),
                })
            }
            Err(error @ CallError::Start(_)) => return Err(error.into()),
            Err(error) => SettingsValidation {
                valid: false,
                message: Some(error.to_string()),
            },
        })
    }

    /// Evaluates one admission request and returns the response that the API server would get. A
    /// failure inside the policy becomes a response with code 500, as in policy-server.
    ///
    /// # Errors
    /// When the module doesn't start, or the request can't be serialised.
    pub(crate) fn evaluate(
        &self,
        capabilities: &Capabilities,
        settings: &Settings,
        request: &AdmissionRequest,
    ) -> Result<AdmissionResponse> {
        // policy-server converts the request to a `Value` twice. One `Value` is sent, and the answer is
        // compared with the other one. The benchmark measures this function, so this function does the
        // same work as policy-server.
        let compared = serde_json::to_value(request).context("cannot serialise the request")?;
        let bytes = payload(request, settings)?;
        let uid = request.uid.clone();
        Ok(match self.validate(capabilities, &bytes) {
            Ok(answer) => match serde_json::from_slice::<ValidationResponse>(&answer) {
                Ok(answer) => AdmissionResponse::new(uid, compared.get("object"), answer),
                Err(error) => AdmissionResponse::internal_error(
                    uid,
                    &format!("invalid response from policy: {error}"),
                ),
            },
            Err(error @ CallError::Start(_)) => return Err(error.into()),
            Err(error @ CallError::Interrupted) => {
                AdmissionResponse::reject(uid, error.to_string(), Some(500))
            }
            Err(CallError::Failed(error)) => AdmissionResponse::internal_error(uid, &error),
        })
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

    /// A waPC guest in text form. `init` and `call` are the bodies of `wapc_init` and `__guest_call`.
    /// Its memory has `answer` at address 0 and room for a counter of calls at 2048.
    fn guest(answer: &str, init: &str, call: &str) -> Vec<u8> {
        let escaped = answer.replace('"', "\\22");
        format!(
            r#"(module
                (import "wapc" "__guest_response" (func $response (param i32 i32)))
                (import "wapc" "__guest_error" (func $error (param i32 i32)))
                (memory (export "memory") 1)
                (data (i32.const 0) "{escaped}")
                (func (export "wapc_init") {init})
                (func (export "__guest_call") (param i32 i32) (result i32) {call}))"#
        )
        .into_bytes()
    }

    fn respond(length: usize) -> String {
        format!("(call $response (i32.const 0) (i32.const {length})) (i32.const 1)")
    }

    fn request() -> AdmissionRequest {
        crate::host::request::parse_review(
            r#"{"uid":"u","kind":{"group":"","version":"v1","kind":"Pod"},
                "resource":{"group":"","version":"v1","resource":"pods"},
                "operation":"CREATE","userInfo":{},"object":{"kind":"Pod"}}"#,
        )
        .expect("a request")
    }

    const ENGINES: &[Engine] = &[
        Engine::Interpreter,
        #[cfg(feature = "wasmtime")]
        Engine::Compiler,
    ];

    fn module(wat: &[u8], engine: Engine, time_limit: Option<Duration>) -> PolicyModule {
        let bytes = wat::parse_bytes(wat).expect("a module");
        PolicyModule::new(&bytes, engine, time_limit).expect("module")
    }

    fn evaluate(wat: &[u8], limit: Option<Duration>) -> Result<String> {
        let mut answers = ENGINES.iter().map(|&engine| {
            let response = module(wat, engine, limit).evaluate(
                &nothing_granted(),
                &Settings::new(),
                &request(),
            )?;
            Ok(serde_json::to_string(&response).expect("serialise"))
        });
        let first = answers.next().expect("an engine");
        for other in answers {
            // The engines give the same answers. Only the text of a failed call may differ.
            let (first, other) = (first.as_ref().ok(), other.ok());
            assert!(
                first.is_some_and(|text| text.contains("Guest call failure: "))
                    || first == other.as_ref(),
                "{first:?} {other:?}"
            );
        }
        first
    }

    #[test]
    fn an_answer_becomes_an_admission_response() {
        let answer = r#"{"accepted":true}"#;
        let got = evaluate(&guest(answer, "", &respond(answer.len())), None).expect("evaluate");
        assert_eq!(
            got,
            r#"{"uid":"u","allowed":true,"auditAnnotations":null,"warnings":null}"#
        );
    }

    #[test]
    fn an_error_of_the_guest_becomes_code_500_with_its_text() {
        let call = "(call $error (i32.const 0) (i32.const 4)) (i32.const 0)";
        let got = evaluate(&guest("boom", "", call), None).expect("evaluate");
        assert!(
            got.contains(r#""status":{"message":"internal server error: Guest call failure: boom","code":500}"#),
            "{got}"
        );
    }

    #[test]
    fn a_trap_becomes_code_500() {
        let got = evaluate(&guest("", "", "unreachable"), None).expect("evaluate");
        assert!(
            got.contains("internal server error: Guest call failure: "),
            "{got}"
        );
        assert!(got.contains(r#""code":500"#), "{got}");
    }

    #[test]
    fn an_answer_that_is_not_json_becomes_code_500() {
        let got = evaluate(&guest("nope", "", &respond(4)), None).expect("evaluate");
        assert!(got.contains("invalid response from policy: "), "{got}");
    }

    #[test]
    fn an_endless_guest_is_interrupted() {
        let call = "(loop $l (br $l)) unreachable";
        let limit = Some(Duration::from_millis(1));
        let got = evaluate(&guest("", "", call), limit).expect("evaluate");
        assert!(
            got.contains(
                "Policy execution interrupted because it exceeded the allowed execution time"
            ),
            "{got}"
        );
        assert!(got.contains(r#""code":500"#), "{got}");
    }

    #[test]
    fn a_module_that_fails_to_start_is_an_error() {
        let error = evaluate(&guest("", "unreachable", "(i32.const 0)"), None)
            .expect_err("a module that traps in wapc_init");
        assert!(error.to_string().contains("does not start"), "{error}");
    }

    #[test]
    fn a_module_with_a_foreign_import_is_refused() {
        let wat = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#;
        let bytes = wat::parse_str(wat).expect("a module");
        for &engine in ENGINES {
            assert!(
                PolicyModule::new(&bytes, engine, None).is_err(),
                "{engine:?}"
            );
        }
    }

    #[test]
    fn each_call_gets_a_fresh_instance() {
        // The answer has one byte for each call that this instance got.
        let call =
            "(i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2048)) (i32.const 1)))
            (call $response (i32.const 0) (i32.load (i32.const 2048))) (i32.const 1)";
        for &engine in ENGINES {
            let module = module(&guest("ab", "", call), engine, None);
            for _ in 0..3 {
                let answer = module.call(&nothing_granted(), "x", b"");
                assert_eq!(answer.expect("call"), b"a");
            }
        }
    }

    #[test]
    fn the_protocol_version_has_to_be_v1() {
        for (answer, valid) in [("\"v1\"", true), ("\"v2\"", false), ("v1", false)] {
            let wat = guest(answer, "", &respond(answer.len()));
            let module = module(&wat, Engine::default(), None);
            assert_eq!(module.protocol_version().is_ok(), valid, "{answer}");
        }
    }

    #[test]
    fn a_closure_answers_host_calls() {
        // This guest makes a host call with binding `b`, namespace `n`, operation `o` and payload `b`.
        // The guest's answer or error is that of the host.
        let wat = r#"(module
            (import "wapc" "__guest_response" (func $response (param i32 i32)))
            (import "wapc" "__guest_error" (func $error (param i32 i32)))
            (import "wapc" "__host_call" (func $ask (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
            (import "wapc" "__host_response" (func $heard (param i32)))
            (import "wapc" "__host_response_len" (func $heard_length (result i32)))
            (import "wapc" "__host_error" (func $refused (param i32)))
            (import "wapc" "__host_error_len" (func $refused_length (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "bno")
            (func (export "__guest_call") (param i32 i32) (result i32)
                (if (result i32) (call $ask (i32.const 0) (i32.const 1) (i32.const 1) (i32.const 1)
                        (i32.const 2) (i32.const 1) (i32.const 0) (i32.const 1))
                    (then (call $heard (i32.const 100))
                        (call $response (i32.const 100) (call $heard_length)) (i32.const 1))
                    (else (call $refused (i32.const 100))
                        (call $error (i32.const 100) (call $refused_length)) (i32.const 0)))))"#;
        let says: Capabilities = Arc::new(|call| {
            let texts = [call.binding, call.namespace, call.operation].concat();
            Ok([texts.as_bytes(), call.payload].concat())
        });
        let refuses: Capabilities = Arc::new(|_| Err("no".to_owned()));
        for &engine in ENGINES {
            let module = module(wat.as_bytes(), engine, Some(Duration::from_mins(1)));
            assert_eq!(module.validate(&says, b"").expect("an answer"), b"bnob");
            let error = module.validate(&refuses, b"").expect_err("an error");
            assert_eq!(error.to_string(), "Guest call failure: no");
        }
    }
}
