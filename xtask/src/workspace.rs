//! The root of the repository, and Cargo in it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

pub(crate) fn root() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/..").into()
}

pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}
