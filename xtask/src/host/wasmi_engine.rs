//! The interpreter `wasmi` as a waPC engine. Cargo compiles wasmi in a tenth of the time that wasmtime
//! takes. In wasmi, a module of this policy's size starts without a noticeable delay.

use std::sync::Arc;

use anyhow::Context;
use wapc::{ModuleState, WebAssemblyEngineProvider, wapc_functions};
use wasmi::{Engine, Error, Instance, Linker, Module, Store};

use super::wapc_engine::{AnyError, InstanceSource, define_imports};

/// A module for the interpreter.
#[derive(Clone)]
pub(super) struct InterpretedModule {
    module: Module,
    linker: Arc<Linker<Arc<ModuleState>>>,
}

impl InterpretedModule {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Error> {
        let engine = Engine::default();
        let module = Module::new(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        define_imports!(linker, wasmi, Error::new);
        // A module that doesn't link is refused here, and not at the first call.
        linker.instantiate_and_start(&mut Store::new(&engine, Arc::default()), &module)?;
        Ok(Self {
            module,
            linker: Arc::new(linker),
        })
    }
}

impl InstanceSource for InterpretedModule {
    fn fresh(&self) -> Box<dyn WebAssemblyEngineProvider> {
        Box::new(InterpretedInstance {
            module: self.clone(),
            running: None,
        })
    }
}

struct InterpretedInstance {
    module: InterpretedModule,
    running: Option<(Store<Arc<ModuleState>>, Instance)>,
}

impl WebAssemblyEngineProvider for InterpretedInstance {
    fn init(&mut self, host: Arc<ModuleState>) -> Result<(), AnyError> {
        let module = &self.module.module;
        let mut store = Store::new(module.engine(), host);
        let instance = self
            .module
            .linker
            .instantiate_and_start(&mut store, module)?;
        for start in wapc_functions::REQUIRED_STARTS {
            if let Ok(function) = instance.get_typed_func::<(), ()>(&store, start) {
                function.call(&mut store, ())?;
            }
        }
        self.running = Some((store, instance));
        Ok(())
    }

    fn call(&mut self, operation_length: i32, payload_length: i32) -> Result<i32, AnyError> {
        let (store, instance) = self.running.as_mut().context("not started")?;
        let lengths = (operation_length, payload_length);
        Ok(instance
            .get_typed_func::<(i32, i32), i32>(&*store, wapc_functions::GUEST_CALL)?
            .call(store, lengths)?)
    }

    fn replace(&mut self, _: &[u8]) -> Result<(), AnyError> {
        Err("a module can't be replaced".into())
    }
}
