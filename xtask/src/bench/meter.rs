//! Exact counts: a waPC engine on wasmtime directly, because `wasmtime-provider` keeps its store to
//! itself, and fuel and memory are read through the store.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use wapc::{ModuleState, WebAssemblyEngineProvider, wapc_functions};
use wasmtime::{Instance, InstancePre, Linker, Store};

use crate::host::compiler::configuration;
use crate::host::imports::define_imports;
use crate::host::{AnyError, Capabilities, Instances, Module, nothing_granted};

use super::scenarios::Scenario;

/// More than any guest uses. Wasmtime counts with signed numbers.
const FUEL: u64 = 1 << 60;

/// What is the same in every run with the same module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exact {
    /// Of the payload that the guest gets.
    pub(crate) request_bytes: u64,
    /// Executed by the guest, start-up included; wasmtime's fuel, one for each.
    pub(crate) instructions: u64,
    /// Of the linear memory when the call was over. It never shrinks, so this is its peak.
    pub(crate) memory_bytes: u64,
}

/// A module whose calls are counted.
pub(crate) struct Metered {
    module: Module,
    last: Arc<Mutex<Exact>>,
}

impl Metered {
    /// Compiles a module.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self> {
        let last = Arc::<Mutex<Exact>>::default();
        let instances = link(bytes).map_err(|error| anyhow!("{error:#}"))?;
        let module = Module::of(Counted {
            instances,
            last: Arc::clone(&last),
        });
        Ok(Self { module, last })
    }

    /// The policy's answer to a request.
    pub(crate) fn answer(&self, payload: &[u8]) -> Result<Vec<u8>> {
        Ok(self.module.validate(&nothing_granted(), payload)?)
    }

    /// The policy's answer to a payload, and what it cost.
    pub(crate) fn cost(
        &self,
        payload: &[u8],
        capabilities: &Arc<dyn Capabilities>,
    ) -> Result<(Vec<u8>, Exact)> {
        let answer = self.module.validate(capabilities, payload)?;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let exact = Exact {
            request_bytes: u64::try_from(payload.len())?,
            ..last.clone()
        };
        Ok((answer, exact))
    }

    /// What a scenario costs, if its answer is the expected one.
    pub(crate) fn count(&self, scenario: &Scenario) -> Result<Exact> {
        let (answer, exact) = self.cost(&scenario.payload()?, &nothing_granted())?;
        scenario.check(&answer)?;
        Ok(exact)
    }
}

fn link(bytes: &[u8]) -> wasmtime::Result<InstancePre<Arc<ModuleState>>> {
    let mut config = configuration();
    config.consume_fuel(true);
    let engine = wasmtime::Engine::new(&config)?;
    let module = wasmtime::Module::new(&engine, bytes)?;
    let mut linker = Linker::new(&engine);
    define_imports!(linker, wasmtime, wasmtime::Error::msg);
    linker.instantiate_pre(&module)
}

struct Counted {
    instances: InstancePre<Arc<ModuleState>>,
    last: Arc<Mutex<Exact>>,
}

impl Instances for Counted {
    fn fresh(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, AnyError> {
        Ok(Box::new(CountedInstance {
            instances: self.instances.clone(),
            last: Arc::clone(&self.last),
            running: None,
        }))
    }
}

struct CountedInstance {
    instances: InstancePre<Arc<ModuleState>>,
    last: Arc<Mutex<Exact>>,
    running: Option<(Store<Arc<ModuleState>>, Instance)>,
}

impl WebAssemblyEngineProvider for CountedInstance {
    fn init(&mut self, host: Arc<ModuleState>) -> Result<(), AnyError> {
        let mut store = Store::new(self.instances.module().engine(), host);
        store.set_fuel(FUEL)?;
        let instance = self.instances.instantiate(&mut store)?;
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
        let memory = instance
            .get_memory(&mut *store, "memory")
            .context("the module has no memory")?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Exact {
            request_bytes: 0,
            instructions: FUEL - store.get_fuel()?,
            memory_bytes: u64::try_from(memory.data_size(&*store))?,
        };
        Ok(succeeded)
    }

    fn replace(&mut self, _: &[u8]) -> Result<(), AnyError> {
        Err("a module can't be replaced".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_and_memory_are_counted_start_up_included() {
        let module = |start: &str, grow: u32| {
            let text = format!(
                r#"(module
                    (import "wapc" "__guest_response" (func $response (param i32 i32)))
                    (memory (export "memory") 1)
                    (data (i32.const 0) "ok")
                    (func (export "wapc_init") {start})
                    (func (export "__guest_call") (param i32 i32) (result i32)
                        (drop (memory.grow (i32.const {grow})))
                        (call $response (i32.const 0) (i32.const 2)) (i32.const 1)))"#
            );
            let policy = Metered::new(&wat::parse_str(text).expect("a module")).expect("a policy");
            assert_eq!(policy.answer(b"").expect("an answer"), b"ok");
            let last = policy.last.lock().expect("a lock").clone();
            (last.instructions, last.memory_bytes)
        };
        let (empty, one_page) = module("", 0);
        let (more, three_pages) = module("(drop (i32.const 1)) (drop (i32.const 1))", 2);
        // `drop` is free.
        assert_eq!(more - empty, 2);
        assert_eq!((one_page, three_pages), (65_536, 3 * 65_536));
    }
}
