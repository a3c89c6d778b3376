//! The project's tools: they build, run and inspect this policy's module.
//!
//! They need none of Kubewarden's own tools. A command that has a counterpart in `kwctl` writes the
//! same formats, and its flags have the names and meanings of kwctl's flags.

mod client;
mod commands;
mod workspace;

fn main() -> std::process::ExitCode {
    commands::main()
}
