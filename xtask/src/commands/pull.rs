//! `cargo xtask pull`: fetches a policy from a registry into a file, as `kwctl pull` does.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::commands::registry_args::RegistryArgs;
use crate::host::policy_artifact;
use crate::terminal;

/// Pulls a policy's module from a registry, as `kwctl pull` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    registry: RegistryArgs,
    /// File for the module
    #[arg(short, long, value_name = "PATH")]
    output_path: PathBuf,
    /// The policy: `registry://host/repository:tag`, or `…@sha256:…`
    uri: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let module = policy_artifact::pull(&args.registry.client(30)?, &args.uri)?;
    write_whole(&args.output_path, &module)?;
    terminal::print(&format!(
        "{}: {} bytes\n",
        args.output_path.display(),
        module.len()
    ))
}

/// Writes a file completely or not at all. The content first goes to a temporary file in the same
/// directory, so a failure doesn't change a file that exists.
fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let directory = path.parent().filter(|parent| *parent != Path::new(""));
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // By default, only its owner can read a temporary file. This file gets the permissions of any new
        // file: the system subtracts the user's umask from these.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
