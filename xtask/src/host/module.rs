//! A policy's module in wasmtime, the engine of Kubewarden's hosts, with the functions that waPC
//! offers to a guest.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;
use wasmtime::{Caller, Config, Engine, Extern, InstancePre, Linker, Memory, Store};

/// A call of the policy to its host.
#[derive(Debug, Clone, Copy)]
pub struct HostCall<'a> {
    /// The namespace of the capability, such as `oci`.
    pub namespace: &'a str,
    /// The capability, such as `v1/manifest_digest`.
    pub operation: &'a str,
    /// The argument.
    pub payload: &'a [u8],
}

/// Answers a policy's host calls. An error is the text that the policy gets.
pub type Capabilities = Arc<dyn Fn(HostCall<'_>) -> Result<Vec<u8>, String> + Send + Sync>;

/// A policy's answer, and what it cost.
#[derive(Debug, Default)]
pub struct Answer {
    /// What the policy returned.
    pub bytes: Vec<u8>,
    /// The instructions that the policy executed, its start-up included, in wasmtime's fuel.
    pub instructions: u64,
    /// The size of the linear memory after the call. Linear memory never shrinks, so this is its
    /// peak.
    pub memory_bytes: u64,
}

/// A compiled module. Each call gets a new instance, as in policy-server. Several threads can call
/// it at the same time. (The crates `wapc` and `wasmtime-provider` do the same for Kubewarden, but
/// don't show wasmtime's `Store`, which counts the instructions of a call.)
pub struct Module(InstancePre<Guest>);

/// More fuel than any call needs. wasmtime counts fuel with signed numbers.
const FUEL: u64 = 1 << 60;

impl Module {
    /// Reads a module from a file. See [`Module::new`].
    ///
    /// # Errors
    /// If there is no such file, or if [`Module::new`] fails.
    pub fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = fs::read(path).with_context(|| format!("cannot read module {shown}"))?;
        Self::new(&bytes).with_context(|| format!("cannot load module {shown}"))
    }

    /// Compiles a module.
    ///
    /// # Errors
    /// If the bytes are no module, or if the module imports anything but waPC's functions.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let engine = Engine::new(&configuration())?;
        let module = compiled(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        offer_functions(&mut linker)?;
        Ok(Self(linker.instantiate_pre(&module)?))
    }

    /// Calls a function of the policy. `capabilities` answers the policy's host calls.
    ///
    /// # Errors
    /// If the policy gives no answer.
    pub fn call(
        &self,
        capabilities: &Capabilities,
        operation: &str,
        payload: &[u8],
    ) -> Result<Answer> {
        let guest = Guest {
            operation: operation.as_bytes().to_vec(),
            payload: payload.to_vec(),
            answer: Vec::new(),
            error: String::new(),
            capabilities: Arc::clone(capabilities),
            of_host: Vec::new(),
        };
        let mut store = Store::new(self.0.module().engine(), guest);
        store.set_fuel(FUEL)?;
        let instance = self.0.instantiate(&mut store)?;
        if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, "wapc_init") {
            start.call(&mut store, ())?;
        }
        let lengths = (
            u32::try_from(operation.len())?,
            u32::try_from(payload.len())?,
        );
        let succeeded = instance
            .get_typed_func::<(u32, u32), u32>(&mut store, "__guest_call")?
            .call(&mut store, lengths)?;
        let memory = instance.get_memory(&mut store, "memory");
        let memory_bytes = memory.map_or(0, |memory| memory.data_size(&store));
        let instructions = FUEL - store.get_fuel()?;
        let guest = store.into_data();
        ensure!(
            succeeded == 1,
            "the policy answered with an error: {}",
            guest.error
        );
        Ok(Answer {
            bytes: guest.answer,
            instructions,
            memory_bytes: u64::try_from(memory_bytes)?,
        })
    }
}

fn configuration() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        // Only a backtrace needs the map of addresses, which is a third of a compiled module.
        .generate_address_map(false);
    config
}

/// Compiles a module, or reads it from the file that an earlier call has written. (wasmtime's own
/// cache does the same, but takes 37 seconds of CPU time to compile.)
fn compiled(engine: &Engine, bytes: &[u8]) -> Result<wasmtime::Module> {
    let file = file_of(engine, bytes)?;
    #[expect(unsafe_code, reason = "wasmtime runs the code in the file as it is")]
    // SAFETY: a file gets its name when it is complete. Whoever can write to the folder can replace
    // this program too.
    let kept = unsafe { wasmtime::Module::deserialize_file(engine, &file) };
    if let Ok(module) = kept {
        return Ok(module);
    }
    let module = wasmtime::Module::new(engine, bytes)?;
    // A full disk only makes the next call slower.
    let _ = keep(&module, &file);
    Ok(module)
}

/// The file of a compiled module, in a folder beside this program, which `cargo clean` removes too.
fn file_of(engine: &Engine, bytes: &[u8]) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    bytes.hash(&mut hasher);
    let name = format!("compiled-modules/{:016x}", hasher.finish());
    Ok(env::current_exe()?.with_file_name(name))
}

/// Writes a compiled module to its file, for later calls.
fn keep(module: &wasmtime::Module, file: &Path) -> Result<()> {
    let folder = file.parent().context("a file of the root")?;
    fs::create_dir_all(folder)?;
    let mut temporary = NamedTempFile::new_in(folder)?;
    temporary.write_all(&module.serialize()?)?;
    temporary.persist(file)?;
    Ok(())
}

/// What an instance and its host exchange.
struct Guest {
    operation: Vec<u8>,
    payload: Vec<u8>,
    answer: Vec<u8>,
    error: String,
    capabilities: Capabilities,
    /// The answer to the last host call, or its error.
    of_host: Vec<u8>,
}

type Host<'a> = Caller<'a, Guest>;

fn memory(guest: &mut Host<'_>) -> wasmtime::Result<Memory> {
    let memory = guest.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| wasmtime::Error::msg("the module has no memory"))
}

fn read(guest: &mut Host<'_>, at: u32, length: u32) -> wasmtime::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    memory(guest)?.read(guest, at as usize, &mut bytes)?;
    Ok(bytes)
}

fn text(guest: &mut Host<'_>, at: u32, length: u32) -> wasmtime::Result<String> {
    Ok(String::from_utf8(read(guest, at, length)?)?)
}

fn write(guest: &mut Host<'_>, at: u32, value: &[u8]) -> wasmtime::Result<()> {
    Ok(memory(guest)?.write(guest, at as usize, value)?)
}

/// The functions of waPC: <https://wapc.io/docs/spec/>.
fn offer_functions(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker
        .func_wrap("wapc", "__guest_request", ask_guest)?
        .func_wrap("wapc", "__guest_response", take_answer)?
        .func_wrap("wapc", "__guest_error", take_error)?
        .func_wrap("wapc", "__host_call", answer_host_call)?
        .func_wrap("wapc", "__console_log", log)?;
    // A guest reads the answer or the error, as the result of its call says.
    for name in ["__host_response", "__host_error"] {
        linker
            .func_wrap("wapc", name, |mut guest: Host<'_>, at: u32| {
                let value = guest.data().of_host.clone();
                write(&mut guest, at, &value)
            })?
            .func_wrap("wapc", &format!("{name}_len"), |guest: Host<'_>| {
                u32::try_from(guest.data().of_host.len()).map_err(wasmtime::Error::from)
            })?;
    }
    Ok(())
}

fn ask_guest(mut guest: Host<'_>, operation: u32, payload: u32) -> wasmtime::Result<()> {
    let texts = (guest.data().operation.clone(), guest.data().payload.clone());
    write(&mut guest, operation, &texts.0)?;
    write(&mut guest, payload, &texts.1)
}

fn take_answer(mut guest: Host<'_>, at: u32, length: u32) -> wasmtime::Result<()> {
    guest.data_mut().answer = read(&mut guest, at, length)?;
    Ok(())
}

fn take_error(mut guest: Host<'_>, at: u32, length: u32) -> wasmtime::Result<()> {
    guest.data_mut().error = text(&mut guest, at, length)?;
    Ok(())
}

fn log(mut guest: Host<'_>, at: u32, length: u32) -> wasmtime::Result<()> {
    eprintln!("policy log: {}", text(&mut guest, at, length)?);
    Ok(())
}

/// Returns whether the host call succeeded. waPC's first text, the binding, means nothing to
/// Kubewarden.
#[allow(clippy::too_many_arguments)] // waPC's signature
fn answer_host_call(
    mut guest: Host<'_>,
    _binding: u32,
    _binding_length: u32,
    namespace: u32,
    namespace_length: u32,
    operation: u32,
    operation_length: u32,
    payload: u32,
    payload_length: u32,
) -> wasmtime::Result<u32> {
    let namespace = text(&mut guest, namespace, namespace_length)?;
    let operation = text(&mut guest, operation, operation_length)?;
    let payload = read(&mut guest, payload, payload_length)?;
    let answer = (guest.data().capabilities)(HostCall {
        namespace: &namespace,
        operation: &operation,
        payload: &payload,
    });
    let succeeded = answer.is_ok();
    guest.data_mut().of_host = answer.unwrap_or_else(String::into_bytes);
    Ok(u32::from(succeeded))
}
