//! The waPC host: loads a policy's module once and serves each call from a fresh instance, as
//! policy-server does, so that neither a test nor a benchmark sees state that a cluster would not.
//!
//! ```no_run
//! use std::sync::Arc;
//! use xtask::host::{Capabilities, Engine, Module};
//!
//! # fn main() -> anyhow::Result<()> {
//! let module = Module::load("annotated-policy.wasm".as_ref(), Engine::default(), None)?;
//! // What the policy asks of its host: here, any tag has this digest.
//! let capabilities: Arc<dyn Capabilities> = Arc::new(
//!     |_binding: &str, _namespace: &str, operation: &str, _payload: &[u8]| match operation {
//!         "v1/manifest_digest" => Ok(br#"{"digest":"sha256:..."}"#.to_vec()),
//!         other => Err(format!("unknown operation: {other}")),
//!     },
//! );
//! let answer = module.validate(&capabilities, br#"{"request": {}, "settings": {}}"#)?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "registry")]
pub(crate) mod artifact;
pub(crate) mod capabilities;
#[cfg(feature = "wasmtime")]
pub(crate) mod compiler;
#[cfg(feature = "registry")]
pub(crate) mod functions;
pub(crate) mod imports;
mod interpreter;
#[cfg(feature = "policy")]
pub(crate) mod objects;
#[cfg(feature = "registry")]
pub(crate) mod oci;
pub(crate) mod request;
pub(crate) mod response;
#[cfg(feature = "registry")]
pub(crate) mod session;
pub(crate) mod settings;
#[cfg(feature = "registry")]
pub(crate) mod sources;
#[cfg(feature = "registry")]
pub(crate) mod transcript;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::json;
use wapc::{WapcHost, WebAssemblyEngineProvider};

pub use self::capabilities::{Capabilities, nothing_granted};
use self::request::AdmissionRequest;
use self::response::{AdmissionResponse, ValidationResponse};
use self::settings::Settings;

/// What waPC's engines report.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// By these words alone does `wasmtime-provider` tell an interruption from any other trap; the other
/// engine uses the same.
const INTERRUPTED: &str = "guest code interrupted, execution deadline exceeded";

/// What runs a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// wasmi: starts at once.
    #[default]
    Interpreter,
    /// wasmtime, as in Kubewarden's hosts: fast, once the module is compiled.
    #[cfg(feature = "wasmtime")]
    Compiler,
}

/// A module that is ready to run. Each call gets an instance of its own.
pub(crate) trait Instances: Send + Sync {
    /// An instance that has not been started.
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError>;
}

/// A policy's module, ready to be called any number of times, from any thread.
pub struct Module {
    instances: Box<dyn Instances>,
}

/// Why a call into the module gave no answer.
#[derive(Debug)]
pub enum CallError {
    /// The module could not be instantiated, or failed while it started.
    Start(String),
    /// The time limit was over.
    Interrupted,
    /// The guest reported an error or trapped; waPC's own words.
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

/// The policy's judgement of its settings.
#[derive(Debug, Deserialize)]
pub(crate) struct SettingsValidation {
    /// Whether the policy can work with them.
    pub(crate) valid: bool,
    /// What is wrong with them.
    pub(crate) message: Option<String>,
}

impl Module {
    /// Reads a module from a file. See [`Module::new`].
    ///
    /// # Errors
    /// When there is no such file, or as [`Module::new`] does.
    pub fn load(path: &Path, engine: Engine, time_limit: Option<Duration>) -> Result<Self> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("cannot read module {}", path.display()))?;
        Self::new(&bytes, engine, time_limit)
            .with_context(|| format!("cannot load module {}", path.display()))
    }

    /// Takes a module as bytes. The guest is interrupted after `time_limit` of each call; only its own
    /// code can be: a host call that blocks is waited for, and the interruption comes when it returns.
    ///
    /// # Errors
    /// When it is not a WebAssembly module, or imports anything but waPC's functions.
    pub fn new(bytes: &[u8], engine: Engine, time_limit: Option<Duration>) -> Result<Self> {
        Ok(match engine {
            Engine::Interpreter => Self::of(
                interpreter::Interpreted::new(bytes, time_limit)
                    .map_err(|error| anyhow!("{error}"))?,
            ),
            #[cfg(feature = "wasmtime")]
            Engine::Compiler => Self::of(
                compiler::Compiled::new(bytes, time_limit).map_err(|error| anyhow!("{error:#}"))?,
            ),
        })
    }

    pub(crate) fn of(instances: impl Instances + 'static) -> Self {
        Self {
            instances: Box::new(instances),
        }
    }

    /// Calls one waPC function on a fresh instance. The capabilities answer what it asks of its host.
    ///
    /// # Errors
    /// When the guest gives no answer.
    pub fn call(
        &self,
        capabilities: &Arc<dyn Capabilities>,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        let provider = self
            .instances
            .fresh()
            .map_err(|error| CallError::Start(error.to_string()))?;
        let capabilities = Arc::clone(capabilities);
        let instance = WapcHost::new(
            provider,
            Some(Box::new(
                move |_, binding, namespace, operation, payload| {
                    capabilities
                        .call(binding, namespace, operation, payload)
                        .map_err(Into::into)
                },
            )),
        )
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

    /// Calls `validate` with `{"request": ..., "settings": ...}` and returns the policy's answer, a
    /// `ValidationResponse` in JSON, as it gave it.
    ///
    /// # Errors
    /// As [`Module::call`].
    pub fn validate(
        &self,
        capabilities: &Arc<dyn Capabilities>,
        payload: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        self.call(capabilities, "validate", payload)
    }

    /// Calls `validate_settings` with settings in JSON and returns the policy's answer,
    /// `{"valid": ..., "message": ...}`, as it gave it.
    ///
    /// # Errors
    /// As [`Module::call`].
    pub fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, CallError> {
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

    /// Asks the policy whether it can work with these settings.
    pub(crate) fn judge_settings(&self, settings: &Settings) -> Result<SettingsValidation> {
        let payload = serde_json::to_vec(settings).context("cannot serialise the settings")?;
        Ok(match self.validate_settings(&payload) {
            Ok(answer) => {
                serde_json::from_slice(&answer).unwrap_or_else(|error| SettingsValidation {
                    valid: false,
                    message: Some(format!("the policy's answer is no answer: {error}")),
                })
            }
            Err(error @ CallError::Start(_)) => return Err(error.into()),
            Err(error) => SettingsValidation {
                valid: false,
                message: Some(error.to_string()),
            },
        })
    }

    /// Evaluates one admission request: the answer as the API server would get it. Whatever goes wrong inside the policy becomes an answer with
    /// code 500, as in policy-server; an error is only what keeps the module from starting.
    pub(crate) fn evaluate(
        &self,
        capabilities: &Arc<dyn Capabilities>,
        settings: &Settings,
        request: &AdmissionRequest,
    ) -> Result<AdmissionResponse> {
        // policy-server makes a value of the request twice: one to compare the answer with, one to
        // send. The benchmark measures this function, so it does the same work.
        let sent = serde_json::to_value(request).context("cannot serialise the request")?;
        let bytes = payload(request, settings)?;
        let uid = request.uid.clone();
        Ok(match self.validate(capabilities, &bytes) {
            Ok(answer) => match serde_json::from_slice::<ValidationResponse>(&answer) {
                Ok(answer) => AdmissionResponse::new(uid, sent.get("object"), answer),
                Err(error) => AdmissionResponse::internal_error(
                    uid,
                    &format!("invalid response from policy: {error}"),
                ),
            },
            Err(error @ CallError::Start(_)) => return Err(error.into()),
            Err(error @ CallError::Interrupted) => {
                AdmissionResponse::reject(uid, error.to_string(), 500)
            }
            Err(CallError::Failed(error)) => AdmissionResponse::internal_error(uid, &error),
        })
    }
}

/// What the guest gets for a request. Through a `Value`, as the real hosts do it: the guest sees each
/// object's keys sorted.
pub(crate) fn payload(request: &AdmissionRequest, settings: &Settings) -> Result<Vec<u8>> {
    let payload = json!({ "request": request, "settings": settings });
    serde_json::to_vec(&payload).context("cannot serialise the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waPC guest in text form: `__guest_call` is what each test needs it to be, and memory holds
    /// `answer` at address 0 and the number of calls at 2048.
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
        crate::host::request::read(
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

    fn module(wat: &[u8], engine: Engine, time_limit: Option<Duration>) -> Module {
        let bytes = wat::parse_bytes(wat).expect("a module");
        Module::new(&bytes, engine, time_limit).expect("module")
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
            // But for a trap's words the engines agree.
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
    fn a_guest_error_is_a_500_with_the_guests_words() {
        let call = "(call $error (i32.const 0) (i32.const 4)) (i32.const 0)";
        let got = evaluate(&guest("boom", "", call), None).expect("evaluate");
        assert!(
            got.contains(r#""status":{"message":"internal server error: Guest call failure: boom","code":500}"#),
            "{got}"
        );
    }

    #[test]
    fn a_trap_is_a_500_and_not_a_crash() {
        let got = evaluate(&guest("", "", "unreachable"), None).expect("evaluate");
        assert!(
            got.contains("internal server error: Guest call failure: "),
            "{got}"
        );
        assert!(got.contains(r#""code":500"#), "{got}");
    }

    #[test]
    fn an_answer_that_is_no_json_is_a_500() {
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
            assert!(Module::new(&bytes, engine, None).is_err(), "{engine:?}");
        }
    }

    #[test]
    fn each_call_gets_a_fresh_instance() {
        // Answers with as many bytes of "v1" as there were calls in this instance.
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
    fn a_host_call_is_answered_by_a_closure() {
        // Asks for `o` of `n` of `b` with the payload `b`, and answers with what it hears.
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
        let says: Arc<dyn Capabilities> = Arc::new(|b: &str, n: &str, o: &str, p: &[u8]| {
            Ok([b.as_bytes(), n.as_bytes(), o.as_bytes(), p].concat())
        });
        let refuses: Arc<dyn Capabilities> =
            Arc::new(|_: &str, _: &str, _: &str, _: &[u8]| Err("no".to_owned()));
        for &engine in ENGINES {
            let module = module(wat.as_bytes(), engine, Some(Duration::from_mins(1)));
            assert_eq!(module.validate(&says, b"").expect("an answer"), b"bnob");
            let error = module.validate(&refuses, b"").expect_err("an error");
            assert_eq!(error.to_string(), "Guest call failure: no");
        }
    }
}
