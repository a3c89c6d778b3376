//! The compiler wasmtime as a waPC engine, with the settings of Kubewarden's hosts. So a compiled module runs as
//! fast as in a policy-server. If this program is compiled without optimisation, wasmtime needs more time to
//! start an instance.
//!
//! The crate `wasmtime-provider` is such an engine too. It doesn't expose wasmtime's `Store`, which knows the
//! instructions and the memory of a call.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use wapc::{ModuleState, WebAssemblyEngineProvider, wapc_functions};
use wasmtime::{Instance, InstancePre, Linker, Store};

use super::wapc_engine::{AnyError, InstanceSource, define_imports};

/// More fuel than any guest uses. Fuel is wasmtime's measure for instructions. The number has to fit
/// into `i64`, because wasmtime counts fuel with signed numbers.
const FUEL: u64 = 1 << 60;

/// What a call used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// The instructions that the guest executed, its start-up included, in wasmtime's fuel.
    pub(crate) instructions: u64,
    /// The size of the linear memory after the call. Linear memory never shrinks, so this is its peak.
    pub(crate) memory_bytes: u64,
}

/// A module, compiled to machine code and linked.
#[derive(Clone)]
pub(crate) struct CompiledModule {
    instances: InstancePre<Arc<ModuleState>>,
    /// Whether the module consumes fuel.
    fuel: bool,
    /// The usage of the last call, if the module counts it.
    usage: Option<Arc<Mutex<Usage>>>,
}

impl CompiledModule {
    /// A module that consumes fuel. All commands use this module, so that wasmtime compiles it only once.
    pub(crate) fn with_fuel(bytes: &[u8]) -> Result<Self> {
        Self::compile(bytes, true).map_err(|error| anyhow!("{error:#}"))
    }

    /// A module to measure its time. Kubewarden's hosts interrupt a slow module with epochs and not with fuel,
    /// and the checks of the epoch take less time.
    pub(crate) fn with_epochs(bytes: &[u8]) -> Result<Self> {
        Self::compile(bytes, false).map_err(|error| anyhow!("{error:#}"))
    }

    fn compile(bytes: &[u8], fuel: bool) -> wasmtime::Result<Self> {
        let mut config = configuration();
        config.consume_fuel(fuel).epoch_interruption(!fuel);
        let engine = wasmtime::Engine::new(&config)?;
        let module = wasmtime::Module::new(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        define_imports!(linker, wasmtime, wasmtime::Error::msg);
        Ok(Self {
            instances: linker.instantiate_pre(&module)?,
            fuel,
            usage: None,
        })
    }

    /// The same module with fuel, which writes the usage of each call to `usage`.
    pub(crate) fn counting(&self, usage: &Arc<Mutex<Usage>>) -> Self {
        Self {
            usage: Some(Arc::clone(usage)),
            ..self.clone()
        }
    }
}

impl InstanceSource for CompiledModule {
    fn fresh(&self) -> Box<dyn WebAssemblyEngineProvider> {
        Box::new(CompiledInstance {
            module: self.clone(),
            running: None,
        })
    }
}

/// The settings of each wasmtime engine. wasmtime keeps compiled modules in a folder beside this
/// program, so that `cargo clean` removes them too. If wasmtime can't keep them, each run compiles the
/// module again.
fn configuration() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
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

struct CompiledInstance {
    module: CompiledModule,
    running: Option<(Store<Arc<ModuleState>>, Instance)>,
}

impl WebAssemblyEngineProvider for CompiledInstance {
    fn init(&mut self, host: Arc<ModuleState>) -> Result<(), AnyError> {
        let instances = &self.module.instances;
        let mut store = Store::new(instances.module().engine(), host);
        if self.module.fuel {
            store.set_fuel(FUEL)?;
        } else {
            // The epoch stays 0, so no call is interrupted.
            store.set_epoch_deadline(1);
        }
        let instance = instances.instantiate(&mut store)?;
        for start in wapc_functions::REQUIRED_STARTS {
            if let Ok(function) = instance.get_typed_func::<(), ()>(&mut store, start) {
                function.call(&mut store, ())?;
            }
        }
        self.running = Some((store, instance));
        Ok(())
    }

    fn call(&mut self, operation_length: i32, payload_length: i32) -> Result<i32, AnyError> {
        let (store, instance) = self.running.as_mut().context("not started")?;
        let succeeded = instance
            .get_typed_func::<(i32, i32), i32>(&mut *store, wapc_functions::GUEST_CALL)?
            .call(&mut *store, (operation_length, payload_length))?;
        if let Some(usage) = &self.module.usage {
            let memory = instance.get_memory(&mut *store, "memory");
            let memory = memory.context("the module has no memory")?;
            *usage.lock().unwrap_or_else(PoisonError::into_inner) = Usage {
                instructions: FUEL - store.get_fuel()?,
                memory_bytes: u64::try_from(memory.data_size(&*store))?,
            };
        }
        Ok(succeeded)
    }

    fn replace(&mut self, _: &[u8]) -> Result<(), AnyError> {
        Err("a module can't be replaced".into())
    }
}
