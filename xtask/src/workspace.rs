//! The root of the repository, and the programs that are compiled when they are needed.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(crate) fn root() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/..").into()
}

/// Compiles a package, as this one is compiled, and returns the path of its program.
pub(crate) fn compiled(package: &str, program: &str) -> Result<PathBuf> {
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
        .args([
            "build",
            "--quiet",
            "--locked",
            "--profile=xtask",
            "--package",
            package,
        ])
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "{package} could not be compiled");
    Ok(env::current_exe()?.with_file_name(program))
}
