//! The interpreter `wasmi` as a waPC engine. Cargo compiles wasmi in a tenth of the time that wasmtime
//! takes. In wasmi, a module of this policy's size starts without a noticeable delay.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wapc::{ModuleState, WebAssemblyEngineProvider, wapc_functions};
use wasmi::{
    CompilationMode, Config, Engine, Error, Linker, Module, Store, TypedFunc, TypedResumableCall,
    WasmParams, WasmResults,
};

use super::engine::{AnyError, INTERRUPTED, InstanceSource};
use super::wapc_imports::define_imports;

/// The interval between two checks of the time limit, in wasmi's fuel: about a tenth of a second.
const SLICE: u64 = 20_000_000;

/// A module for the interpreter.
#[derive(Clone)]
pub(super) struct InterpretedModule {
    module: Module,
    linker: Arc<Linker<Arc<ModuleState>>>,
    time_limit: Option<Duration>,
}

impl InterpretedModule {
    pub(super) fn new(bytes: &[u8], time_limit: Option<Duration>) -> Result<Self, Error> {
        let mut config = Config::default();
        config.consume_fuel(time_limit.is_some());
        if time_limit.is_some() {
            // If a function were compiled on its first call, this would take fuel and could end the
            // call. So all functions are compiled now.
            config.compilation_mode(CompilationMode::Eager);
        }
        let engine = Engine::new(&config);
        let module = Module::new(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        define_imports!(linker, wasmi, Error::new);
        // A module that doesn't link is refused here, and not at the first call.
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

impl InstanceSource for InterpretedModule {
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError> {
        Ok(Box::new(InterpretedInstance {
            module: self.clone(),
            running: None,
        }))
    }
}

struct InterpretedInstance {
    module: InterpretedModule,
    running: Option<(Store<Arc<ModuleState>>, wasmi::Instance)>,
}

impl InterpretedInstance {
    /// Calls a function, and checks the time limit whenever a slice of fuel is used up.
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

impl WebAssemblyEngineProvider for InterpretedInstance {
    fn init(&mut self, host: Arc<ModuleState>) -> Result<(), AnyError> {
        let mut store = Store::new(self.module.module.engine(), host);
        if self.module.time_limit.is_some() {
            store.set_fuel(SLICE)?;
        }
        let instance = self
            .module
            .linker
            .instantiate_and_start(&mut store, &self.module.module)?;
        for start in wapc_functions::REQUIRED_STARTS {
            if let Ok(function) = instance.get_typed_func::<(), ()>(&store, start) {
                Self::call_typed(self.module.time_limit, &mut store, function, ())?;
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
        Self::call_typed(self.module.time_limit, store, function, lengths)
    }

    fn replace(&mut self, _: &[u8]) -> Result<(), AnyError> {
        Err("a module can't be replaced".into())
    }
}
