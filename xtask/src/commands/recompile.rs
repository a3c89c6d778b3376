//! What this program does for a command that needs a feature with which it wasn't compiled: Cargo compiles it again
//! with the feature, and runs the new program.

use std::env;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::{self, Command, Stdio};

use anyhow::{Context, Result};

use crate::workspace;

/// The arguments of a command that this program lacks. The new program reads them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Compiles this program with a feature, and runs it with the same arguments. `input` is its standard input, if this
/// process has read it already.
///
/// # Errors
/// If Cargo can't be run. If Cargo or the command fails, this process ends with Cargo's exit code.
pub(crate) fn with(feature: &str, input: Option<&str>) -> Result<()> {
    if std::io::stderr().is_terminal() {
        eprintln!("==> This needs xtask's feature `{feature}`. The first time, it is compiled for a minute.");
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--locked", "--package=xtask", "--profile=xtask"])
        .args(["--features", feature, "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--")
        .args(env::args_os().skip(1))
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::inherit() })
        .spawn()
        .context("cannot run cargo")?;
    if let (Some(input), Some(mut stdin)) = (input, cargo.stdin.take()) {
        stdin.write_all(input.as_bytes())?;
    }
    let status = cargo.wait()?;
    if status.success() {
        return Ok(());
    }
    process::exit(status.code().unwrap_or(1))
}
