//! The paths of the project's files.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository: the parent of this crate's directory. When Cargo runs this program,
/// `CARGO_MANIFEST_DIR` names the crate's directory. Otherwise the directory at compile time is
/// used.
pub(crate) fn root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|path| path.ends_with("xtask"))
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().map_or(manifest.clone(), Path::to_owned)
}

/// Cargo in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}
