//! The client of registries: a program of its own beside this one (`xtask/registry`), because it is
//! compiled for a minute, and most commands don't need it.

use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// What an image's registry answers.
pub(crate) fn digest(image: &str) -> Result<String, String> {
    let answer = run(["digest", image]);
    answer
        .map(|text| text.trim_end().to_owned())
        .map_err(|error| error.to_string())
}

/// Runs the client, and returns what it prints.
///
/// # Errors
/// With the client's own error, if it fails.
pub(crate) fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Result<String> {
    let mut program = env::current_exe()?.with_file_name("registry-client");
    if !program.exists() {
        eprintln!("==> compiling the client of registries, which takes a minute, once");
        program = workspace::compiled("registry-client", "registry-client")?;
    }
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("cannot run the client of registries")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
