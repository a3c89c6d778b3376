//! Commands that this program was built without: Cargo builds it with them, once, and runs them.

use std::env;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;

/// Whatever the command takes.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _all: Vec<OsString>,
}

/// Runs a command that knows what the policy's crate does.
#[cfg(not(feature = "policy"))]
pub(crate) fn with_policy(_: &Args) -> Result<()> {
    build_with(&["--features", "policy"])
}

/// Runs a command that reaches registries.
#[cfg(not(feature = "registry"))]
pub(crate) fn with_registry(_: &Args) -> Result<()> {
    build_with(&["--features", "registry"])
}

/// Runs a command that needs wasmtime. With all features, as the tests have it: for another set of
/// them Cargo would compile wasmtime once more.
#[cfg(not(feature = "wasmtime"))]
pub(crate) fn with_wasmtime(_: &Args) -> Result<()> {
    build_with(&["--all-features"])
}

/// Runs a command that needs the specification.
#[cfg(not(feature = "soak"))]
pub(crate) fn with_soak(_: &Args) -> Result<()> {
    build_with(&["--all-features"])
}

fn build_with(features: &[&str]) -> Result<()> {
    if std::io::stderr().is_terminal() {
        eprintln!("==> building what this command needs; the first time takes minutes");
    }
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "run",
            "--quiet",
            "--locked",
            "--package",
            "xtask",
            "--profile",
            "xtask",
        ])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .args(features)
        .arg("--")
        .args(env::args_os().skip(1))
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        // It has said why.
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}
