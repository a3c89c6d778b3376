//! `cargo xtask build`: compiles the policy to its module and annotates it.
//!
//! The difficulty is the target. A Rust toolchain from rustup can be given `wasm32-unknown-unknown`
//! wherever rustup's server can be reached; where only a distribution's mirror can, Debian's
//! `rustc-web` packages build the standard library from source. Whoever clones the repository should
//! not have to know any of this.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Deserialize;

use crate::commands::annotate::annotate;
use crate::workspace::{self, ANNOTATED_POLICY, POLICY};

const TARGET: &str = "wasm32-unknown-unknown";

/// The module's file name as Cargo writes it.
const ARTIFACT: &str = "consistent_pull_policy.wasm";

/// Debian's compiler, Cargo and the source of the standard library; the `-web` packages are the ones
/// that a stable release keeps recent.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Where Debian's packages put their programs. Called by their path, so that nothing has to be
/// registered anywhere and nothing stays behind.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Builds policy.wasm and annotated-policy.wasm, setting up the target where it is missing
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The toolchain to use, else the first one that works
    #[arg(long, hide = true)]
    toolchain: Option<Toolchain>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Toolchain {
    /// The active one, with the target that rustup installs.
    Rustup,
    /// Debian's, which builds the standard library.
    Debian,
}

/// How the module will be compiled.
#[derive(Debug)]
enum Plan {
    Installed,
    BuildStd { linker: PathBuf },
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let plan = plan(args.toolchain)?;
    step(match plan {
        Plan::Installed => "building the module for wasm32-unknown-unknown",
        Plan::BuildStd { .. } => {
            "building the module and the standard library for wasm32-unknown-unknown with Debian's \
             compiler"
        }
    });
    compile(
        &root,
        &plan,
        &["--package", "consistent-pull-policy", "--lib"],
    )?;

    let artifact = target_directory(&root)?
        .join(TARGET)
        .join("release")
        .join(ARTIFACT);
    let policy = root.join(POLICY);
    fs::copy(&artifact, &policy)
        .with_context(|| format!("cannot copy {} to {}", artifact.display(), policy.display()))?;
    let annotated = root.join(ANNOTATED_POLICY);
    step(&format!(
        "annotating {POLICY} with metadata.yml and README.md"
    ));
    annotate(
        &policy,
        &root.join("metadata.yml"),
        Some(&root.join("README.md")),
        &annotated,
    )?;
    for path in [&policy, &annotated] {
        let size = fs::metadata(path)
            .with_context(|| format!("cannot read {}", path.display()))?
            .len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        step(&format!("{name}: {size} bytes"));
    }
    Ok(())
}

/// Builds the policy that does nothing, which the benchmark compares with, and returns its path.
#[cfg(feature = "wasmtime")]
pub(crate) fn policy_that_does_nothing() -> Result<PathBuf> {
    let root = workspace::root();
    compile(
        &root,
        &plan(None)?,
        &["--package", "baseline", "--examples"],
    )?;
    let examples = target_directory(&root)?
        .join(TARGET)
        .join("release/examples");
    Ok(examples.join("accept_sdk.wasm"))
}

/// One line for each thing that is done; the programs that do it print their own.
fn step(text: &str) {
    eprintln!("==> {text}");
}

/// Finds a way to compile for the target, and makes one where there is none.
fn plan(forced: Option<Toolchain>) -> Result<Plan> {
    let mut tried = Vec::new();
    if forced != Some(Toolchain::Debian) {
        if target_is_installed() {
            return Ok(Plan::Installed);
        }
        step(&format!("installing the target {TARGET} with rustup"));
        match add_target() {
            Ok(()) => return Ok(Plan::Installed),
            Err(error) => {
                let text = format!("rustup target add {TARGET}: {error:#}");
                step(&format!("that did not work: {text}"));
                tried.push(text);
            }
        }
    }
    if forced != Some(Toolchain::Rustup) {
        match debian() {
            Ok(linker) => return Ok(Plan::BuildStd { linker }),
            Err(error) => {
                let text = format!("Debian's {}: {error:#}", DEBIAN_PACKAGES.join(", "));
                tried.push(text);
            }
        }
    }
    bail!(
        "no toolchain here can build for {TARGET}. Tried:\n  - {}\n\
         Any one of these helps: run `rustup target add {TARGET}` where rustup's server can be reached; \
         install your distribution's standard library for {TARGET}; \
         or, on Debian, install {} and rust-lld or lld.",
        tried.join("\n  - "),
        DEBIAN_PACKAGES.join(", ")
    )
}

/// Whether the active compiler has the target's standard library, wherever it has it from.
fn target_is_installed() -> bool {
    output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))
        .ok()
        .and_then(|directory| fs::read_dir(directory.trim()).ok())
        .is_some_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("libcore"))
            })
        })
}

fn add_target() -> Result<()> {
    output(Command::new("rustup").args(["target", "add", TARGET]))?;
    if target_is_installed() {
        Ok(())
    } else {
        bail!("it succeeded, but the active toolchain isn't the one that got the target")
    }
}

/// Makes Debian's toolchain usable and returns the linker for it, which its packages lack.
fn debian() -> Result<PathBuf> {
    let linker = linker()?;
    let missing: Vec<&str> = DEBIAN_PACKAGES
        .into_iter()
        .filter(|package| !is_installed(package))
        .collect();
    if !missing.is_empty() {
        step(&format!("installing Debian's {}", missing.join(", ")));
        apt(&["update", "--quiet=2"])?;
        let mut install = vec!["install", "--yes", "--quiet=2", "--no-install-recommends"];
        install.extend(&missing);
        apt(&install)?;
    }
    Ok(linker)
}

fn is_installed(package: &str) -> bool {
    output(Command::new("dpkg-query").args(["--show", "--showformat=${Status}", package]))
        .is_ok_and(|status| status.trim() == "install ok installed")
}

fn apt(arguments: &[&str]) -> Result<()> {
    let root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut command = if root {
        Command::new("apt-get")
    } else {
        let mut command = Command::new("sudo");
        command.arg("apt-get");
        command
    };
    output(
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
    .map(drop)
}

/// A linker for WebAssembly: the one that comes with every toolchain of rustup's, else one in the
/// path.
fn linker() -> Result<PathBuf> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    let of_toolchain = fs::read_dir(Path::new(sysroot.trim()).join("lib/rustlib"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin/rust-lld"));
    let in_path = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&in_path)
        .flat_map(|directory| ["rust-lld", "wasm-ld"].map(|name| directory.join(name)));
    of_toolchain
        .chain(in_path)
        .find(|path| path.is_file())
        .context("no linker for WebAssembly: neither rust-lld nor wasm-ld")
}

/// Compiles what is selected.
fn compile(root: &Path, plan: &Plan, selection: &[&str]) -> Result<()> {
    let mut command = match plan {
        Plan::Installed => {
            Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
        }
        Plan::BuildStd { linker } => {
            let mut command = Command::new(DEBIAN_CARGO);
            command
                .env("RUSTC", DEBIAN_RUSTC)
                // Building the standard library is an unstable feature of a stable compiler.
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
            command
        }
    };
    command
        .current_dir(root)
        .args(["build", "--locked", "--release", "--target", TARGET])
        .args(["--config", &same_paths_everywhere()?])
        .args(selection);
    if let Plan::BuildStd { .. } = plan {
        command.arg("-Zbuild-std=std,panic_abort");
    }
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    if !status.success() {
        bail!("cargo build failed ({status})");
    }
    Ok(())
}

/// A setting of Cargo's that takes the place where this user's Cargo keeps packages out of the paths
/// in the module (panics name source files): with it the same source gives the same bytes for
/// everybody. Cargo adds it to the flags in `.cargo/config.toml`.
fn same_paths_everywhere() -> Result<String> {
    let home = env::var_os("CARGO_HOME").map_or_else(
        || env::home_dir().map(|home| home.join(".cargo")),
        |home| Some(PathBuf::from(home)),
    );
    let sources = home
        .context("there is neither a home directory nor CARGO_HOME")?
        .join("registry/src");
    // One directory for each registry; before the first build there is none yet.
    let flags: Vec<String> = fs::read_dir(&sources)
        .into_iter()
        .flatten()
        .flatten()
        .map(|registry| {
            format!(
                "--remap-path-prefix={}=/registry",
                registry.path().display()
            )
        })
        .collect();
    // A list of strings is written in TOML as it is in JSON.
    let flags = serde_json::to_string(&flags)?;
    Ok(format!("target.{TARGET}.rustflags={flags}"))
}

/// The part of `cargo metadata` that matters here.
#[derive(Deserialize)]
struct CargoMetadata {
    target_directory: PathBuf,
}

fn target_directory(root: &Path) -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let json = output(
        Command::new(cargo)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(root),
    )?;
    let metadata: CargoMetadata =
        serde_json::from_str(&json).context("cannot read the output of cargo metadata")?;
    Ok(metadata.target_directory)
}

/// What a program prints; when it fails, what it calls the error, or else the last thing it says.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .env("RUST_BACKTRACE", "0")
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint
            .lines()
            .find(|line| line.starts_with("error"))
            .or_else(|| complaint.lines().rfind(|line| !line.trim().is_empty()))
            .unwrap_or("no reason given");
        bail!("{program}: {}", complaint.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_programs_complaint_is_the_error() {
        for (script, expected) in [
            ("echo one >&2; echo two >&2; echo >&2; exit 3", "two"),
            (
                "echo 'error: one' >&2; echo stack >&2; exit 3",
                "error: one",
            ),
            ("exit 3", "no reason given"),
        ] {
            let error = output(Command::new("sh").args(["-c", script])).expect_err(script);
            let text = error.to_string();
            assert!(text.ends_with(expected), "{script}: {text}");
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(output(&mut Command::new("/no/such/program")).is_err());
    }
}
