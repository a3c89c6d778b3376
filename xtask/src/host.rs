//! The waPC host: compiles a policy's module once and serves each call from a fresh instance, as
//! policy-server does, so that neither a test nor a benchmark sees state that a cluster would not.
//!
//! It stands on the crates that Kubewarden itself uses, with the same engine settings. What the
//! policy may ask of its host comes in as [`HostFunctions`]; what is sent to it and what becomes of
//! its answer are the business of [`crate::host::request`] and [`crate::host::response`].

pub(crate) mod capabilities;
pub(crate) mod oci;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod session;
pub(crate) mod sources;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use wapc::WapcHost;
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::host::capabilities::HostFunctions;
use crate::host::request::AdmissionRequest;
use crate::host::response::{AdmissionResponse, ValidationResponse};

/// The settings of a policy: a JSON object.
pub(crate) type Settings = Map<String, Value>;

/// How often the epoch moves on. Fine enough that a limit of one second means one second, coarse
/// enough to cost nothing.
const TICK: Duration = Duration::from_millis(50);

/// By these words alone does the engine provider tell an interruption from any other trap.
const INTERRUPTED: &str = "guest code interrupted, execution deadline exceeded";

/// A configured WebAssembly engine, and the clock that interrupts what runs too long in it.
pub(crate) struct Engine {
    engine: wasmtime::Engine,
    clock: Option<Clock>,
}

impl Engine {
    /// An engine whose guests are interrupted after `time_limit` of each call.
    ///
    /// As in policy-server only the guest's own code can be interrupted: a host call that blocks is
    /// waited for, and the interruption comes when it returns.
    pub(crate) fn new(time_limit: Option<Duration>) -> Result<Self> {
        let mut config = wasmtime::Config::new();
        config.wasm_function_references(true);
        config.epoch_interruption(time_limit.is_some());
        config.cache(compiled_modules());
        let engine = wasmtime::Engine::new(&config)
            .map_err(|error| anyhow!("cannot configure the WebAssembly engine: {error}"))?;
        let clock = time_limit.map(|limit| Clock::start(engine.clone(), limit));
        Ok(Self { engine, clock })
    }
}

/// Where compiled modules are kept: beside this program, so that whoever removes the build directory
/// removes them, too. Compiling takes most of a run's time, and a test suite is hundreds of runs.
/// Without such a place everything works as well, more slowly.
pub(crate) fn compiled_modules() -> Option<wasmtime::Cache> {
    if cfg!(test) {
        return None;
    }
    let directory = std::env::current_exe()
        .ok()?
        .parent()?
        .join("compiled-modules");
    let mut config = wasmtime::CacheConfig::new();
    config.with_directory(directory);
    wasmtime::Cache::new(config).ok()
}

/// Moves the engine's epoch on until it is dropped.
struct Clock {
    deadline: u64,
    /// Dropped with the clock, which ends the thread at its next tick at the latest.
    _stop: mpsc::Sender<()>,
}

impl Clock {
    fn start(engine: wasmtime::Engine, limit: Duration) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(TICK) {
                engine.increment_epoch();
            }
        });
        // The call may begin just before a tick: one more than the limit's own, so that no guest is
        // cut short.
        let ticks = limit.as_nanos().div_ceil(TICK.as_nanos()).saturating_add(1);
        Self {
            deadline: u64::try_from(ticks).unwrap_or(u64::MAX),
            _stop: stop,
        }
    }
}

/// A policy's module, compiled and linked; each call gets an instance of its own.
pub(crate) struct Module {
    instances: WasmtimeEngineProviderPre,
    deadline: Option<u64>,
}

/// Why a call into the module gave no answer.
#[derive(Debug)]
pub(crate) enum CallError {
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

/// What came of one admission request.
pub(crate) struct Evaluation {
    /// The answer as the API server would get it.
    pub(crate) response: AdmissionResponse,
    /// From the request as a value to the answer as a value: serialising, a fresh instance, the
    /// guest, parsing, the patch.
    pub(crate) elapsed: Duration,
}

impl Module {
    /// Compiles the module in a file.
    pub(crate) fn load(engine: &Engine, path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("cannot read module {}", path.display()))?;
        Self::new(engine, &bytes).with_context(|| format!("cannot load module {}", path.display()))
    }

    /// Compiles a module and links it with waPC's functions; a module that imports anything else is
    /// refused here.
    pub(crate) fn new(engine: &Engine, bytes: &[u8]) -> Result<Self> {
        let module =
            wasmtime::Module::new(&engine.engine, bytes).map_err(|error| anyhow!("{error:#}"))?;
        let instances = WasmtimeEngineProviderBuilder::new()
            .engine(engine.engine.clone())
            .module(module)
            .build_pre()
            .map_err(|error| anyhow!("{error}"))?;
        let deadline = engine.clock.as_ref().map(|clock| clock.deadline);
        Ok(Self {
            instances,
            deadline,
        })
    }

    /// Calls one waPC function on a fresh instance.
    pub(crate) fn call(
        &self,
        functions: &Arc<HostFunctions>,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, CallError> {
        let deadlines = self.deadline.map(|ticks| EpochDeadlines {
            wapc_init: ticks,
            wapc_func: ticks,
        });
        let provider = self
            .instances
            .rehydrate(deadlines)
            .map_err(|error| CallError::Start(error.to_string()))?;
        let functions = Arc::clone(functions);
        let instance = WapcHost::new(
            Box::new(provider),
            Some(Box::new(
                move |_, binding, namespace, operation, payload| {
                    functions
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

    /// The version of Kubewarden's protocol that the policy speaks.
    pub(crate) fn protocol_version(&self) -> Result<String> {
        let functions = Arc::new(HostFunctions::none());
        let answer = self
            .call(&functions, "protocol_version", &[])
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
    pub(crate) fn validate_settings(
        &self,
        functions: &Arc<HostFunctions>,
        settings: &Settings,
    ) -> Result<SettingsValidation> {
        let payload = serde_json::to_vec(settings).context("cannot serialise the settings")?;
        Ok(match self.call(functions, "validate_settings", &payload) {
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

    /// Evaluates one admission request. Whatever goes wrong inside the policy becomes an answer with
    /// code 500, as in policy-server; an error is only what keeps the module from starting.
    pub(crate) fn evaluate(
        &self,
        functions: &Arc<HostFunctions>,
        settings: &Settings,
        request: &AdmissionRequest,
    ) -> Result<Evaluation> {
        let start = Instant::now();
        // policy-server makes a value of the request twice: one to compare the answer with, one to
        // send. The benchmark measures this function, so it does the same work.
        let sent = serde_json::to_value(request).context("cannot serialise the request")?;
        let bytes = payload(request, settings)?;
        let uid = request.uid.clone();
        let response = match self.call(functions, "validate", &bytes) {
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
        };
        Ok(Evaluation {
            response,
            elapsed: start.elapsed(),
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

    fn evaluate(wat: &[u8], limit: Option<Duration>) -> Result<String> {
        let engine = Engine::new(limit).expect("engine");
        let module = Module::new(&engine, wat).expect("module");
        let functions = Arc::new(HostFunctions::none());
        let evaluation = module.evaluate(&functions, &Settings::new(), &request())?;
        Ok(serde_json::to_string(&evaluation.response).expect("serialise"))
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
        let engine = Engine::new(None).expect("engine");
        let wat = br#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#;
        assert!(Module::new(&engine, wat).is_err());
    }

    #[test]
    fn each_call_gets_a_fresh_instance() {
        // Answers with as many bytes of "v1" as there were calls in this instance.
        let call =
            "(i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2048)) (i32.const 1)))
            (call $response (i32.const 0) (i32.load (i32.const 2048))) (i32.const 1)";
        let engine = Engine::new(None).expect("engine");
        let module = Module::new(&engine, &guest("ab", "", call)).expect("module");
        let functions = Arc::new(HostFunctions::none());
        for _ in 0..3 {
            assert_eq!(module.call(&functions, "x", b"").expect("call"), b"a");
        }
    }

    #[test]
    fn the_protocol_version_has_to_be_v1() {
        let engine = Engine::new(None).expect("engine");
        for (answer, valid) in [("\"v1\"", true), ("\"v2\"", false), ("v1", false)] {
            let wat = guest(answer, "", &respond(answer.len()));
            let module = Module::new(&engine, &wat).expect("module");
            assert_eq!(module.protocol_version().is_ok(), valid, "{answer}");
        }
    }
}
