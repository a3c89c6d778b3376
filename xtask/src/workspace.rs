//! Where the project's files are.

use std::path::{Path, PathBuf};

/// The module as the compiler wrote it.
pub(crate) const POLICY: &str = "policy.wasm";

/// The module with its metadata.
pub(crate) const ANNOTATED_POLICY: &str = "annotated-policy.wasm";

/// The repository's root. Cargo says where this crate is when it runs it; the place where it was
/// compiled serves a program that is run directly.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|path| path.ends_with("xtask"))
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().map_or(manifest.clone(), Path::to_owned)
}
