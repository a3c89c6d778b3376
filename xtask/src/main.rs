//! The project's tools: they build, run and inspect this policy's module.
//!
//! They need none of Kubewarden's own tools. A command that has a counterpart in `kwctl` writes the same
//! formats, and most of its flags have the names and meanings of kwctl's flags.
//!
//! | folder | contents |
//! | --- | --- |
//! | [`commands`] | the command line, with a file for each command |
//! | [`host`] | the host: it runs a module, answers its host calls, and makes admission responses |
//! | [`module`] | WebAssembly modules as bytes, and the metadata in them |
//! | [`bench`] | the cost of a request, and the budgets |

#[cfg(feature = "wasmtime")]
mod bench;
mod commands;
mod host;
mod module;
mod terminal;
mod workspace;

fn main() -> std::process::ExitCode {
    commands::main()
}
