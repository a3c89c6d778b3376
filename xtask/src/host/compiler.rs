//! wasmtime as waPC engine, through the crate and with the engine settings that Kubewarden uses:
//! modules run as fast as in a policy-server, once they are compiled.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use wapc::WebAssemblyEngineProvider;
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use super::{AnyError, Instances};

/// How often the epoch moves on. Fine enough that a limit of one second means one second, coarse
/// enough to cost nothing.
const TICK: Duration = Duration::from_millis(50);

/// A module that is compiled to machine code and linked.
pub(super) struct Compiled {
    instances: WasmtimeEngineProviderPre,
    clock: Option<Clock>,
}

impl Compiled {
    pub(super) fn new(bytes: &[u8], time_limit: Option<Duration>) -> Result<Self, AnyError> {
        let mut config = configuration();
        config.epoch_interruption(time_limit.is_some());
        let engine = wasmtime::Engine::new(&config)?;
        let module = wasmtime::Module::new(&engine, bytes)?;
        let instances = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(module)
            .build_pre()?;
        let clock = time_limit.map(|limit| Clock::start(engine, limit));
        Ok(Self { instances, clock })
    }
}

impl Instances for Compiled {
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError> {
        let deadlines = self.clock.as_ref().map(|clock| EpochDeadlines {
            wapc_init: clock.deadline,
            wapc_func: clock.deadline,
        });
        Ok(Box::new(self.instances.rehydrate(deadlines)?))
    }
}

/// What is the same in each engine here. Compiled modules are kept beside this program, so that
/// whoever removes the build directory removes them, too; without such a place everything works as
/// well, more slowly.
pub(crate) fn configuration() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.wasm_function_references(true);
    let program = std::env::current_exe().ok();
    let directory = program.and_then(|path| Some(path.parent()?.join("compiled-modules")));
    let cache = directory.and_then(|directory| {
        let mut cache = wasmtime::CacheConfig::new();
        cache.with_directory(directory);
        wasmtime::Cache::new(cache).ok()
    });
    config.cache(cache);
    config
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
