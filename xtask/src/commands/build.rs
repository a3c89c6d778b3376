//! `cargo xtask build`: compiles this policy to its module.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::{self, cargo};

const TARGET: &str = "wasm32-unknown-unknown";

/// The file name of Cargo's output.
const ARTIFACT: &str = "consistent_pull_policy.wasm";

/// The module as the compiler wrote it, in the root of the repository.
const POLICY: &str = "policy.wasm";

pub(crate) fn run() -> Result<()> {
    step(&format!("building the module for {TARGET}"));
    let artifact = compile()?;
    let bytes = fs::copy(&artifact, workspace::root().join(POLICY))
        .with_context(|| format!("cannot copy {} to {POLICY}", artifact.display()))?;
    step(&format!("{POLICY}: {bytes} bytes"));
    Ok(())
}

/// Prints a line about the build's progress.
fn step(text: &str) {
    eprintln!("==> {text}");
}

/// Compiles the module, and returns its path.
fn compile() -> Result<PathBuf> {
    let cargo_home = cargo_home(env::var_os("CARGO_HOME"), env::home_dir())?;
    let paths = same_paths_everywhere(&cargo_home)?;
    let status = cargo()
        .args(["build", "--locked", "--release", "--target", TARGET])
        .args(["--config", &paths])
        .args(["--package", "consistent-pull-policy", "--lib"])
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cargo build failed ({status})");
    Ok(target_directory()?
        .join(TARGET)
        .join("release")
        .join(ARTIFACT))
}

/// A setting that makes Cargo write the same source paths into the module for every user. The
/// messages of panics contain source paths, and the paths of dependencies begin with the user's
/// Cargo directory. Cargo adds the setting to the flags in `.cargo/config.toml`.
///
/// Cargo creates a directory for each registry when it first downloads packages from it, so without
/// any directory the packages are downloaded before the build.
fn same_paths_everywhere(cargo_home: &Path) -> Result<String> {
    let sources = cargo_home.join("registry/src");
    let registries = || fs::read_dir(&sources).into_iter().flatten().flatten();
    if registries().next().is_none() {
        step("downloading the packages");
        output(cargo().args(["fetch", "--locked", "--target", TARGET]))?;
    }
    let remap = |path: PathBuf| format!("--remap-path-prefix={}=/registry", path.display());
    let flags: Vec<String> = registries()
        .map(|registry| remap(registry.path()))
        .collect();
    // TOML and JSON write a list of strings in the same way.
    let flags = serde_json::to_string(&flags)?;
    Ok(format!("target.{TARGET}.rustflags={flags}"))
}

/// The user's Cargo directory. Cargo too ignores an empty variable `CARGO_HOME`.
fn cargo_home(variable: Option<OsString>, home: Option<PathBuf>) -> Result<PathBuf> {
    variable
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(home?.join(".cargo")))
        .context("there is neither a home directory nor CARGO_HOME")
}

fn target_directory() -> Result<PathBuf> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let json = output(cargo().args(arguments))?;
    let metadata: Value =
        serde_json::from_str(&json).context("cannot read the output of cargo metadata")?;
    let directory = metadata["target_directory"].as_str();
    Ok(directory
        .context("cargo metadata names no target directory")?
        .into())
}

/// The output of a program.
///
/// # Errors
/// When the program can't be run, or when it fails. The error has the program's error output.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}", problem.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
