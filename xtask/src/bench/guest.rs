//! A second waPC host, on wasmtime directly, for what the first one keeps to itself: instruction
//! counts, memory, and how long the guest's part alone takes.
//!
//! `wasmtime-provider` has its store private, and fuel and memory are read through the store. This
//! one answers the same nine imports with the same bytes, so the guest runs the same instructions in
//! both; the whole evaluation is timed in the first one, which is what Kubewarden runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use wasmtime::{Caller, Extern, InstancePre, Linker, Memory, Store};

use crate::host::capabilities::HostFunctions;

/// More than any guest uses. Wasmtime counts with signed numbers.
const FUEL: u64 = 1 << 60;

const WAPC: &str = "wapc";

/// What stands where a clock would: an epoch that never comes.
const NO_DEADLINE: u64 = 1 << 40;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meter {
    /// Time, with the engine settings of policy-server.
    Time,
    /// Instructions, which costs time.
    Fuel,
}

/// What an instance knows of its host.
pub(crate) struct State<T> {
    operation: Vec<u8>,
    payload: Vec<u8>,
    response: Option<Vec<u8>>,
    error: Option<Vec<u8>>,
    host_response: Vec<u8>,
    host_error: Vec<u8>,
    functions: Arc<HostFunctions>,
    /// What an instrumented module reports to.
    pub(crate) observer: T,
}

/// A compiled and linked module.
pub(crate) struct Guest<T: 'static = ()> {
    instances: InstancePre<State<T>>,
    meter: Meter,
}

/// One call on a fresh instance.
pub(crate) struct Outcome<T> {
    /// The guest's answer, as it gave it.
    pub(crate) answer: Vec<u8>,
    /// Of `wapc_init`; a fresh instance serves each request, so each request pays for it.
    pub(crate) fuel_of_start: u64,
    /// Of `__guest_call`.
    pub(crate) fuel_of_call: u64,
    /// Of the linear memory when the call was over. It never shrinks, so this is its peak.
    pub(crate) memory: u64,
    /// Of `__guest_call`, without the instance's making.
    pub(crate) elapsed: Duration,
    /// What an instrumented module reported.
    pub(crate) observer: T,
}

impl<T> Outcome<T> {
    /// Of the start and the call together.
    pub(crate) fn fuel(&self) -> u64 {
        self.fuel_of_start + self.fuel_of_call
    }
}

impl Guest<()> {
    /// Compiles a module.
    pub(crate) fn new(bytes: &[u8], meter: Meter) -> Result<Self> {
        Self::with_imports(bytes, meter, |_| Ok(()))
    }
}

impl<T: Send + 'static> Guest<T> {
    /// Compiles a module that imports more than waPC's functions.
    pub(crate) fn with_imports(
        bytes: &[u8],
        meter: Meter,
        define: impl FnOnce(&mut Linker<State<T>>) -> wasmtime::Result<()>,
    ) -> Result<Self> {
        let mut config = wasmtime::Config::new();
        config.wasm_function_references(true);
        config.epoch_interruption(meter == Meter::Time);
        config.consume_fuel(meter == Meter::Fuel);
        config.cache(crate::host::compiled_modules());
        let instances = wasmtime::Engine::new(&config)
            .and_then(|engine| {
                let module = wasmtime::Module::new(&engine, bytes)?;
                let mut linker = Linker::new(&engine);
                link(&mut linker)?;
                define(&mut linker)?;
                linker.instantiate_pre(&module)
            })
            .map_err(|error| anyhow!("{error:#}"))?;
        Ok(Self { instances, meter })
    }

    /// Calls a waPC function on a fresh instance.
    pub(crate) fn call(
        &self,
        functions: &Arc<HostFunctions>,
        observer: T,
        operation: &str,
        payload: &[u8],
    ) -> Result<Outcome<T>> {
        let state = State {
            operation: operation.as_bytes().to_vec(),
            payload: payload.to_vec(),
            response: None,
            error: None,
            host_response: Vec::new(),
            host_error: Vec::new(),
            functions: Arc::clone(functions),
            observer,
        };
        self.run(state)
    }

    fn run(&self, state: State<T>) -> Result<Outcome<T>> {
        let lengths = (length(&state.operation)?, length(&state.payload)?);
        let mut store = Store::new(self.instances.module().engine(), state);
        let fuel = |store: &Store<State<T>>| match self.meter {
            Meter::Fuel => store.get_fuel().map_err(|error| anyhow!("{error:#}")),
            Meter::Time => Ok(FUEL),
        };
        match self.meter {
            Meter::Fuel => store.set_fuel(FUEL).map_err(|error| anyhow!("{error:#}"))?,
            Meter::Time => store.set_epoch_deadline(NO_DEADLINE),
        }
        let instance = self
            .instances
            .instantiate(&mut store)
            .map_err(|error| anyhow!("the module does not start: {error:#}"))?;
        for start in ["_start", "wapc_init"] {
            if let Ok(function) = instance.get_typed_func::<(), ()>(&mut store, start) {
                function
                    .call(&mut store, ())
                    .map_err(|error| anyhow!("{start}: {error:#}"))?;
            }
        }
        let started = fuel(&store)?;
        let function = instance
            .get_typed_func::<(i32, i32), i32>(&mut store, "__guest_call")
            .map_err(|error| anyhow!("{error:#}"))?;
        let clock = Instant::now();
        let succeeded = function
            .call(&mut store, lengths)
            .map_err(|error| anyhow!("{error:#}"))?;
        let elapsed = clock.elapsed();
        let done = fuel(&store)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .context("the module has no memory")?
            .data_size(&store);
        let state = store.into_data();
        if succeeded != 1 {
            let error = state.error.unwrap_or_default();
            bail!("the policy failed: {}", String::from_utf8_lossy(&error));
        }
        Ok(Outcome {
            answer: state.response.context("the policy gave no answer")?,
            fuel_of_start: FUEL - started,
            fuel_of_call: started - done,
            memory: u64::try_from(memory)?,
            elapsed,
            observer: state.observer,
        })
    }
}

fn length(bytes: &[u8]) -> Result<i32> {
    i32::try_from(bytes.len()).context("too long for waPC")
}

/// waPC's functions, as `wasmtime-provider` has them.
fn link<T: 'static>(linker: &mut Linker<State<T>>) -> wasmtime::Result<()> {
    linker
        .func_wrap(
            WAPC,
            "__guest_request",
            |mut caller: Caller<'_, State<T>>, operation: u32, payload: u32| {
                let memory = memory(&mut caller)?;
                let (bytes, state) = memory.data_and_store_mut(&mut caller);
                write(bytes, payload, &state.payload)?;
                write(bytes, operation, &state.operation)
            },
        )?
        .func_wrap(
            WAPC,
            "__guest_response",
            |mut caller: Caller<'_, State<T>>, at: u32, length: u32| {
                caller.data_mut().response = Some(read(&mut caller, at, length)?);
                Ok(())
            },
        )?
        .func_wrap(
            WAPC,
            "__guest_error",
            |mut caller: Caller<'_, State<T>>, at: u32, length: u32| {
                caller.data_mut().error = Some(read(&mut caller, at, length)?);
                Ok(())
            },
        )?
        .func_wrap(
            WAPC,
            "__host_call",
            |mut caller: Caller<'_, State<T>>,
             binding: u32,
             binding_length: u32,
             namespace: u32,
             namespace_length: u32,
             operation: u32,
             operation_length: u32,
             payload: u32,
             payload_length: u32| {
                let binding = read_text(&mut caller, binding, binding_length)?;
                let namespace = read_text(&mut caller, namespace, namespace_length)?;
                let operation = read_text(&mut caller, operation, operation_length)?;
                let payload = read(&mut caller, payload, payload_length)?;
                let state = caller.data_mut();
                let answer = state
                    .functions
                    .call(&binding, &namespace, &operation, &payload);
                Ok(match answer {
                    Ok(response) => {
                        state.host_response = response;
                        1
                    }
                    Err(error) => {
                        state.host_error = error.into_bytes();
                        0
                    }
                })
            },
        )?
        .func_wrap(
            WAPC,
            "__host_response",
            |mut caller: Caller<'_, State<T>>, at: u32| {
                let memory = memory(&mut caller)?;
                let (bytes, state) = memory.data_and_store_mut(&mut caller);
                write(bytes, at, &state.host_response)
            },
        )?
        .func_wrap(
            WAPC,
            "__host_response_len",
            |caller: Caller<'_, State<T>>| Ok(u32::try_from(caller.data().host_response.len())?),
        )?
        .func_wrap(
            WAPC,
            "__host_error",
            |mut caller: Caller<'_, State<T>>, at: u32| {
                let memory = memory(&mut caller)?;
                let (bytes, state) = memory.data_and_store_mut(&mut caller);
                write(bytes, at, &state.host_error)
            },
        )?
        .func_wrap(WAPC, "__host_error_len", |caller: Caller<'_, State<T>>| {
            Ok(u32::try_from(caller.data().host_error.len())?)
        })?
        .func_wrap(
            WAPC,
            "__console_log",
            |mut caller: Caller<'_, State<T>>, at: u32, length: u32| {
                eprintln!("policy: {}", read_text(&mut caller, at, length)?);
                Ok(())
            },
        )?;
    Ok(())
}

fn memory<T>(caller: &mut Caller<'_, State<T>>) -> wasmtime::Result<Memory> {
    caller
        .get_export("memory")
        .and_then(Extern::into_memory)
        .ok_or_else(|| wasmtime::Error::msg("the module has no memory"))
}

fn read<T>(caller: &mut Caller<'_, State<T>>, at: u32, length: u32) -> wasmtime::Result<Vec<u8>> {
    let start = usize::try_from(at)?;
    let end = start.saturating_add(usize::try_from(length)?);
    memory(caller)?
        .data(&*caller)
        .get(start..end)
        .map(<[u8]>::to_vec)
        .ok_or_else(|| wasmtime::Error::msg("the guest points outside of its memory"))
}

fn read_text<T>(
    caller: &mut Caller<'_, State<T>>,
    at: u32,
    length: u32,
) -> wasmtime::Result<String> {
    Ok(String::from_utf8(read(caller, at, length)?)?)
}

fn write(memory: &mut [u8], at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let start = usize::try_from(at)?;
    memory
        .get_mut(start..start.saturating_add(bytes.len()))
        .ok_or_else(|| wasmtime::Error::msg("the guest points outside of its memory"))?
        .copy_from_slice(bytes);
    Ok(())
}
