//! What the engines in `wasmi_engine.rs` and `wasmtime_engine.rs` have in common: the trait of their modules,
//! and the functions that a waPC host offers to its guest. The crate `wasmtime-provider` has its own
//! implementation of these functions.

use wapc::WebAssemblyEngineProvider;

/// The error type of waPC's engines.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A module that is ready to run. Each call gets a new instance, as in policy-server.
pub(crate) trait InstanceSource: Send + Sync {
    /// A new instance that is not started yet.
    fn fresh(&self) -> Box<dyn WebAssemblyEngineProvider>;
}

/// Defines waPC's functions in a linker of `wasmi` or `wasmtime` whose store holds an
/// `Arc<wapc::ModuleState>`. This is a macro, because `wasmi` and `wasmtime` have the same functions
/// with different types.
macro_rules! define_imports {
    ($linker:expr, $engine:ident, $error:path) => {{
        use $engine::{Caller, Error, Extern, Memory};

        type Guest<'a> = Caller<'a, std::sync::Arc<wapc::ModuleState>>;

        fn memory(guest: &mut Guest<'_>) -> Result<Memory, Error> {
            guest
                .get_export("memory")
                .and_then(Extern::into_memory)
                .ok_or_else(|| $error("the module has no memory"))
        }

        fn read(guest: &mut Guest<'_>, at: u32, length: u32) -> Result<Vec<u8>, Error> {
            let range = at as usize..(at as usize).saturating_add(length as usize);
            let bytes = memory(guest)?.data(&*guest).get(range);
            bytes
                .map(<[u8]>::to_vec)
                .ok_or_else(|| $error("the guest points outside of its memory"))
        }

        fn text(guest: &mut Guest<'_>, at: u32, length: u32) -> Result<String, Error> {
            String::from_utf8(read(guest, at, length)?)
                .map_err(|_| $error("the guest's text is not UTF-8"))
        }

        fn write(guest: &mut Guest<'_>, at: u32, bytes: &[u8]) -> Result<(), Error> {
            memory(guest)?
                .write(guest, at as usize, bytes)
                .map_err(|_| $error("the guest points outside of its memory"))
        }

        fn length(bytes: usize) -> Result<u32, Error> {
            u32::try_from(bytes).map_err(|_| $error("too long for waPC"))
        }

        $linker
            .func_wrap(
                "wapc",
                "__guest_request",
                |mut guest: Guest<'_>, operation: u32, payload: u32| {
                    let Some(request) = guest.data().get_guest_request() else {
                        return Ok(());
                    };
                    write(&mut guest, payload, &request.msg)?;
                    write(&mut guest, operation, request.operation.as_bytes())
                },
            )?
            .func_wrap(
                "wapc",
                "__guest_response",
                |mut guest: Guest<'_>, at: u32, length: u32| {
                    let response = read(&mut guest, at, length)?;
                    guest.data().set_guest_response(response);
                    Ok::<_, Error>(())
                },
            )?
            .func_wrap(
                "wapc",
                "__guest_error",
                |mut guest: Guest<'_>, at: u32, length: u32| {
                    let error = text(&mut guest, at, length)?;
                    guest.data().set_guest_error(error);
                    Ok::<_, Error>(())
                },
            )?
            .func_wrap(
                "wapc",
                "__host_call",
                #[allow(clippy::too_many_arguments)] // waPC's signature
                |mut guest: Guest<'_>,
                 binding: u32,
                 binding_length: u32,
                 namespace: u32,
                 namespace_length: u32,
                 operation: u32,
                 operation_length: u32,
                 payload: u32,
                 payload_length: u32| {
                    let binding = text(&mut guest, binding, binding_length)?;
                    let namespace = text(&mut guest, namespace, namespace_length)?;
                    let operation = text(&mut guest, operation, operation_length)?;
                    let payload = read(&mut guest, payload, payload_length)?;
                    let call = guest
                        .data()
                        .do_host_call(&binding, &namespace, &operation, &payload);
                    Ok::<_, Error>(call.unwrap_or(0))
                },
            )?
            .func_wrap(
                "wapc",
                "__host_response",
                |mut guest: Guest<'_>, at: u32| {
                    let response = guest.data().with_host_response(<[u8]>::to_vec);
                    write(&mut guest, at, &response.unwrap_or_default())
                },
            )?
            .func_wrap("wapc", "__host_response_len", |guest: Guest<'_>| {
                length(guest.data().host_response_len())
            })?
            .func_wrap("wapc", "__host_error", |mut guest: Guest<'_>, at: u32| {
                let error = guest.data().get_host_error().unwrap_or_default();
                write(&mut guest, at, error.as_bytes())
            })?
            .func_wrap("wapc", "__host_error_len", |guest: Guest<'_>| {
                length(guest.data().get_host_error().unwrap_or_default().len())
            })?
            .func_wrap(
                "wapc",
                "__console_log",
                |mut guest: Guest<'_>, at: u32, length: u32| {
                    let message = text(&mut guest, at, length)?;
                    guest.data().do_console_log(&message);
                    Ok::<_, Error>(())
                },
            )?;
    }};
}

pub(crate) use define_imports;
