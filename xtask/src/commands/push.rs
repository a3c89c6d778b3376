//! `cargo xtask push`: stores a policy in a registry, as `kwctl push` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::host::policy_artifact;
use crate::terminal;

/// Pushes an annotated module to a registry, as `kwctl push` does, and prints its immutable reference
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The module
    module: PathBuf,
    /// The destination: `registry://host/repository:tag`
    uri: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let module = fs::read(&args.module)
        .with_context(|| format!("cannot read module {}", args.module.display()))?;
    let reference = policy_artifact::push(&args.uri, module)?;
    terminal::print(&format!("{reference}\n"))
}
