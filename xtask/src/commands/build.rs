//! `cargo xtask build`: compiles this policy to its module and annotates the module.
//!
//! The target `wasm32-unknown-unknown` needs a standard library. If the active compiler lacks the
//! library, rustup installs it. If rustup fails, Debian's compiler compiles the library from source.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::commands::annotate::annotate;
use crate::workspace::{self, ANNOTATED_POLICY, POLICY};

const TARGET: &str = "wasm32-unknown-unknown";

/// The file name of Cargo's output.
const ARTIFACT: &str = "consistent_pull_policy.wasm";

/// Debian's compiler, Cargo and the source of the standard library. In a stable release of Debian, only
/// the packages with `web` in their names are recent.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The programs of Debian's packages. Calling them by their paths needs no change of rustup's settings.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// The origin of the target's standard library.
#[derive(Debug)]
enum StandardLibrary {
    /// The active toolchain has it.
    Installed,
    /// Debian's compiler compiles it. `linker` links the module.
    Compiled { linker: PathBuf },
}

pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let library = find_standard_library()?;
    step(match library {
        StandardLibrary::Installed => "building the module for wasm32-unknown-unknown",
        StandardLibrary::Compiled { .. } => {
            "building the module and the standard library for wasm32-unknown-unknown with Debian's \
             compiler"
        }
    });
    let package = ["--package", "consistent-pull-policy", "--lib"];
    let artifact = compile(&root, &library, &package)?.join(ARTIFACT);
    let policy = root.join(POLICY);
    fs::copy(&artifact, &policy)
        .with_context(|| format!("cannot copy {} to {}", artifact.display(), policy.display()))?;
    let annotated = root.join(ANNOTATED_POLICY);
    step(&format!(
        "annotating {POLICY} with metadata.yml and README.md"
    ));
    let (metadata, usage) = (root.join("metadata.yml"), root.join("README.md"));
    annotate(&policy, &metadata, &usage, &annotated)?;
    for (name, path) in [(POLICY, policy), (ANNOTATED_POLICY, annotated)] {
        let size = fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
        step(&format!("{name}: {} bytes", size.len()));
    }
    Ok(())
}

/// Builds the policy that does nothing, for the benchmark, and returns its path.
#[cfg(feature = "wasmtime")]
pub(crate) fn policy_that_does_nothing() -> Result<PathBuf> {
    let package = ["--package", "baseline", "--examples"];
    let directory = compile(&workspace::root(), &find_standard_library()?, &package)?;
    Ok(directory.join("examples/accept_sdk.wasm"))
}

/// Prints a line about the build's progress.
fn step(text: &str) {
    eprintln!("==> {text}");
}

/// Finds or installs the target's standard library, or installs Debian's packages to compile it.
fn find_standard_library() -> Result<StandardLibrary> {
    if target_is_installed() {
        return Ok(StandardLibrary::Installed);
    }
    step(&format!("installing the target {TARGET} with rustup"));
    let rustup = match add_target() {
        Ok(()) => return Ok(StandardLibrary::Installed),
        Err(error) => format!("rustup target add {TARGET}: {error:#}"),
    };
    step(&format!("that did not work: {rustup}"));
    let packages = DEBIAN_PACKAGES.join(", ");
    install_debian_packages()
        .map(|linker| StandardLibrary::Compiled { linker })
        .map_err(|error| {
            anyhow!(
                "no toolchain here can build for {TARGET}. Tried:\n  - {rustup}\n  - Debian's \
                 {packages}: {error:#}\n\
                 Any one of these helps: run `rustup target add {TARGET}` where rustup's server can be \
                 reached; install your distribution's standard library for {TARGET}; \
                 or, on Debian, install {packages} and rust-lld or lld."
            )
        })
}

/// Whether the active compiler has the target's standard library.
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
        bail!("it succeeded, but installed the target for another toolchain than the active one")
    }
}

/// Installs Debian's toolchain and finds a linker for it, because `DEBIAN_PACKAGES` contains no linker.
fn install_debian_packages() -> Result<PathBuf> {
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
    let is_root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut command = Command::new(if is_root { "apt-get" } else { "sudo" });
    command
        .args((!is_root).then_some("apt-get"))
        .args(arguments);
    output(command.env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
}

/// A linker for WebAssembly: the active toolchain's own `rust-lld`, else a linker on the PATH.
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

/// Compiles a package for the target, and returns the directory of the output.
fn compile(root: &Path, library: &StandardLibrary, package: &[&str]) -> Result<PathBuf> {
    let new_command = || match library {
        StandardLibrary::Installed => cargo(),
        StandardLibrary::Compiled { .. } => Command::new(DEBIAN_CARGO),
    };
    let cargo_home = cargo_home(env::var_os("CARGO_HOME"), env::home_dir())?;
    let paths = same_paths_everywhere(&cargo_home, || {
        step("downloading the packages");
        output(
            new_command()
                .current_dir(root)
                .args(["fetch", "--locked", "--target", TARGET]),
        )
    })?;
    let mut command = new_command();
    if let StandardLibrary::Compiled { linker } = library {
        command
            .env("RUSTC", DEBIAN_RUSTC)
            // A stable compiler needs this variable to compile the standard library.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    command
        .current_dir(root)
        .args(["build", "--locked", "--release", "--target", TARGET])
        .args(["--config", &paths])
        .args(package);
    if let StandardLibrary::Compiled { .. } = library {
        command.arg("-Zbuild-std=std,panic_abort");
    }
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(status.success(), "cargo build failed ({status})");
    Ok(target_directory(root)?.join(TARGET).join("release"))
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A setting that makes Cargo write the same source paths into the module for every user. The messages
/// of panics contain source paths, and the paths of dependencies begin with the user's Cargo directory.
/// Cargo adds the setting to the flags in `.cargo/config.toml`.
///
/// `fetch` makes Cargo download the packages. Cargo creates a directory for each registry when it first
/// downloads packages from it, so without any directory the packages are downloaded before the build.
fn same_paths_everywhere(
    cargo_home: &Path,
    fetch: impl FnOnce() -> Result<String>,
) -> Result<String> {
    let sources = cargo_home.join("registry/src");
    let registries = || fs::read_dir(&sources).into_iter().flatten().flatten();
    if registries().next().is_none() {
        fetch()?;
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

fn target_directory(root: &Path) -> Result<PathBuf> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let json = output(cargo().args(arguments).current_dir(root))?;
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
/// When the program can't be run, or when it fails. The error has one line of the program's error
/// output: the first line that begins with `error`, else the last line that isn't blank.
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
    fn the_error_of_a_program_is_reported() {
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
    fn an_empty_variable_names_no_cargo_directory() {
        let home = || Some(PathBuf::from("/home/user"));
        for (variable, home, expected) in [
            (Some("/cargo"), home(), Some("/cargo")),
            (Some(""), home(), Some("/home/user/.cargo")),
            (None, home(), Some("/home/user/.cargo")),
            (Some(""), None, None),
        ] {
            let found = cargo_home(variable.map(OsString::from), home).ok();
            assert_eq!(found, expected.map(PathBuf::from), "{variable:?}");
        }
    }

    #[test]
    fn an_empty_cargo_directory_is_filled_before_the_paths_are_read() {
        let home = env::temp_dir().join(format!("cargo-home-{}", std::process::id()));
        let registry = home.join("registry/src/example-1");
        let create = || Ok(fs::create_dir_all(&registry).map(|()| String::new())?);
        let expected = format!(
            "target.{TARGET}.rustflags=[\"--remap-path-prefix={}=/registry\"]",
            registry.display()
        );
        let never = || bail!("the packages are there already");
        let first = same_paths_everywhere(&home, create).expect("a setting");
        let second = same_paths_everywhere(&home, never).expect("a setting");
        fs::remove_dir_all(&home).expect("the directory");
        assert_eq!([first, second], [expected.clone(), expected]);
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(output(&mut Command::new("/no/such/program")).is_err());
    }
}
