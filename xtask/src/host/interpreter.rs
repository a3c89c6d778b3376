//! `wasmi` as waPC engine: it is compiled in a tenth of the time that wasmtime takes, and a module of
//! this size starts in it at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wapc::{ModuleState, WebAssemblyEngineProvider, wapc_functions};
use wasmi::{
    Config, Engine, Error, Linker, Module, Store, TypedFunc, TypedResumableCall, WasmParams,
    WasmResults,
};

use super::imports::define_imports;
use super::{AnyError, INTERRUPTED, Instances};

/// Between two looks at the clock, in wasmi's fuel: about a tenth of a second.
const SLICE: u64 = 20_000_000;

/// A module that is interpreted.
#[derive(Clone)]
pub(super) struct Interpreted {
    module: Module,
    linker: Arc<Linker<Arc<ModuleState>>>,
    time_limit: Option<Duration>,
}

impl Interpreted {
    pub(super) fn new(bytes: &[u8], time_limit: Option<Duration>) -> Result<Self, Error> {
        let mut config = Config::default();
        config.consume_fuel(time_limit.is_some());
        let engine = Engine::new(&config);
        let module = Module::new(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        define_imports!(linker, wasmi, Error::new);
        // What doesn't link shall be refused now, and not at the first call.
        let mut store = Store::new(&engine, Arc::default());
        if time_limit.is_some() {
            store.set_fuel(SLICE)?;
        }
        linker.instantiate_and_start(&mut store, &module)?;
        Ok(Self {
            module,
            linker: Arc::new(linker),
            time_limit,
        })
    }
}

impl Instances for Interpreted {
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError> {
        Ok(Box::new(Instance {
            of: self.clone(),
            running: None,
        }))
    }
}

struct Instance {
    of: Interpreted,
    running: Option<(Store<Arc<ModuleState>>, wasmi::Instance)>,
}

impl Instance {
    /// Calls a function, and looks at the clock whenever a slice of fuel is used up.
    fn call_typed<P: WasmParams, R: WasmResults>(
        time_limit: Option<Duration>,
        store: &mut Store<Arc<ModuleState>>,
        function: TypedFunc<P, R>,
        parameters: P,
    ) -> Result<R, AnyError> {
        let Some(time_limit) = time_limit else {
            return Ok(function.call(store, parameters)?);
        };
        let start = Instant::now();
        store.set_fuel(SLICE)?;
        let mut call = function.call_resumable(&mut *store, parameters)?;
        loop {
            call = match call {
                TypedResumableCall::Finished(results) => return Ok(results),
                TypedResumableCall::HostTrap(trap) => {
                    return Err(trap.host_error().to_string().into());
                }
                TypedResumableCall::OutOfFuel(_) if start.elapsed() >= time_limit => {
                    return Err(INTERRUPTED.into());
                }
                TypedResumableCall::OutOfFuel(paused) => {
                    store.set_fuel(SLICE.max(paused.required_fuel()))?;
                    paused.resume(&mut *store)?
                }
            };
        }
    }
}

impl WebAssemblyEngineProvider for Instance {
    fn init(&mut self, host: Arc<ModuleState>) -> Result<(), AnyError> {
        let mut store = Store::new(self.of.module.engine(), host);
        if self.of.time_limit.is_some() {
            store.set_fuel(SLICE)?;
        }
        let instance = self
            .of
            .linker
            .instantiate_and_start(&mut store, &self.of.module)?;
        for start in wapc_functions::REQUIRED_STARTS {
            if let Ok(function) = instance.get_typed_func::<(), ()>(&store, start) {
                Self::call_typed(self.of.time_limit, &mut store, function, ())?;
            }
        }
        self.running = Some((store, instance));
        Ok(())
    }

    fn call(&mut self, operation_length: i32, payload_length: i32) -> Result<i32, AnyError> {
        let Some((store, instance)) = &mut self.running else {
            return Err("the instance has not been started".into());
        };
        let function =
            instance.get_typed_func::<(i32, i32), i32>(&*store, wapc_functions::GUEST_CALL)?;
        let lengths = (operation_length, payload_length);
        Self::call_typed(self.of.time_limit, store, function, lengths)
    }

    fn replace(&mut self, _: &[u8]) -> Result<(), AnyError> {
        Err("a module can't be replaced".into())
    }
}
