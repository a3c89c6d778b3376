//! The compiler wasmtime as a waPC engine. The crate `wasmtime-provider` and the engine settings are those of
//! Kubewarden, so a compiled module runs as fast as in a policy-server. If this program is compiled without
//! optimisation, wasmtime needs more time to start an instance.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use wapc::WebAssemblyEngineProvider;
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use super::engine::{AnyError, InstanceSource};

/// The interval between two increments of wasmtime's epoch, a counter that interrupts a call when it
/// reaches the call's deadline. The interval is short compared with a time limit of one second, and so
/// long that the increments take almost no time.
const TICK: Duration = Duration::from_millis(50);

/// A module, compiled to machine code and linked.
pub(super) struct CompiledModule {
    instances: WasmtimeEngineProviderPre,
    clock: Option<EpochClock>,
}

impl CompiledModule {
    pub(super) fn new(bytes: &[u8], time_limit: Option<Duration>) -> Result<Self, AnyError> {
        let mut config = configuration();
        // Also for calls without a time limit, so that all of them use the same module in wasmtime's cache.
        config.epoch_interruption(true);
        let engine = wasmtime::Engine::new(&config)?;
        let module = wasmtime::Module::new(&engine, bytes)?;
        let instances = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(module)
            .build_pre()?;
        let clock = time_limit.map(|limit| EpochClock::start(engine, limit));
        Ok(Self { instances, clock })
    }
}

impl InstanceSource for CompiledModule {
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError> {
        // Without a clock, the epoch stays 0.
        let deadline = self.clock.as_ref().map_or(1, |clock| clock.deadline);
        let deadlines = EpochDeadlines {
            wapc_init: deadline,
            wapc_func: deadline,
        };
        Ok(Box::new(self.instances.rehydrate(Some(deadlines))?))
    }
}

/// The settings of each wasmtime engine. wasmtime keeps compiled modules in a folder beside this
/// program, so that `cargo clean` removes them too. If wasmtime can't keep them, each run compiles the
/// module again.
pub(crate) fn configuration() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.wasm_function_references(true);
    // Only the positions in a backtrace need the map of addresses. It is a third of a compiled module.
    config.generate_address_map(false);
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

/// Increments the engine's epoch until this clock is dropped.
struct EpochClock {
    deadline: u64,
    /// The sender is dropped with the clock. The clock's thread then ends.
    _stop: mpsc::Sender<()>,
}

impl EpochClock {
    fn start(engine: wasmtime::Engine, limit: Duration) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(TICK) {
                engine.increment_epoch();
            }
        });
        // A call may start just before a tick. One tick more ensures that no call is interrupted early.
        let ticks = limit.as_nanos().div_ceil(TICK.as_nanos()).saturating_add(1);
        Self {
            deadline: u64::try_from(ticks).unwrap_or(u64::MAX),
            _stop: stop,
        }
    }
}
