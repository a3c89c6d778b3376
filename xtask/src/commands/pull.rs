//! `cargo xtask pull`: fetches a policy from a registry into a file, as `kwctl pull` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::host::policy_artifact;

/// Pulls a policy's module from a registry, as `kwctl pull` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File for the module
    #[arg(short, long, value_name = "PATH")]
    output_path: PathBuf,
    /// The policy: `registry://host/repository:tag`, or `…@sha256:…`
    uri: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let module = policy_artifact::pull(&args.uri)?;
    fs::write(&args.output_path, module)
        .with_context(|| format!("cannot write {}", args.output_path.display()))
}
