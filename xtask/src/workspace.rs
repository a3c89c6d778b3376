//! The paths of the project's files.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

/// The file with the module as the compiler wrote it.
pub(crate) const POLICY: &str = "policy.wasm";

/// The file with the module and Kubewarden's metadata.
pub(crate) const ANNOTATED_POLICY: &str = "annotated-policy.wasm";

/// The root of the repository: the parent of this crate's directory. When Cargo runs this program,
/// `CARGO_MANIFEST_DIR` names the crate's directory. Otherwise the directory at compile time is used.
pub(crate) fn root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|path| path.ends_with("xtask"))
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().map_or(manifest.clone(), Path::to_owned)
}

/// The module that a command line names, else the one that `cargo xtask build` wrote.
///
/// # Errors
/// When there is no such file.
pub(crate) fn module_or(named: Option<&Path>, built: &str) -> Result<PathBuf> {
    let path = named.map_or_else(|| root().join(built), Path::to_owned);
    let shown = path.display();
    ensure!(
        path.is_file(),
        "there is no {shown}; `cargo xtask build` makes it"
    );
    Ok(path)
}

/// Cargo in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}
