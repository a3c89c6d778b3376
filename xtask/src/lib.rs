//! The project's tools on the host's side: what builds, runs and looks into the policy's module.
//!
//! They serve where Kubewarden's own tools are not installed, with the same flags and formats where
//! there is a counterpart.
//!
//! | room | holds |
//! | --- | --- |
//! | [`host`] | the waPC host: a module, what it may ask of its host, requests and answers |
//! | [`commands`] | the command line: one file a command |
//! | `module` | WebAssembly modules as bytes, and the metadata in them |
//! | `bench` | what a request costs, and the budgets |

#[cfg(feature = "wasmtime")]
mod bench;
pub mod commands;
pub mod host;
mod module;
mod terminal;
mod workspace;
