//! `cargo xtask pull`: fetches a policy from a registry into a file, as `kwctl pull` does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::host::artifact;
use crate::host::oci::RealRegistries;
use crate::host::sources::Sources;
use crate::terminal;

/// How registries are reached, with kwctl's flags.
#[derive(Debug, clap::Args)]
pub(crate) struct RegistryArgs {
    /// File that says which registries are insecure or have their own certificate authority; those on
    /// this machine may speak HTTP without it
    #[arg(long, value_name = "PATH")]
    sources_path: Option<PathBuf>,
    /// Directory with Docker's config.json, for the registry's credentials
    #[arg(long, value_name = "PATH")]
    docker_config_json_path: Option<PathBuf>,
    /// Gives up on a registry that neither takes a connection nor answers for so long; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    oci_timeout_seconds: u64,
    /// Prints what goes on with the registry
    #[arg(short, long)]
    verbose: bool,
}

impl RegistryArgs {
    /// The registries, reached so.
    pub(crate) fn registries(&self) -> Result<RealRegistries> {
        let sources = self
            .sources_path
            .as_deref()
            .map(Sources::read)
            .transpose()?
            .unwrap_or_default();
        Ok(RealRegistries::new(
            sources,
            self.docker_config_json_path.as_deref(),
            (self.oci_timeout_seconds > 0).then_some(Duration::from_secs(self.oci_timeout_seconds)),
            self.verbose,
        ))
    }
}

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    registry: RegistryArgs,
    /// Where the module goes
    #[arg(short, long, value_name = "PATH")]
    output_path: PathBuf,
    /// Where from: `registry://host/repository:tag`, or `…@sha256:…`
    uri: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let module = artifact::pull(&args.registry.registries()?, &args.uri)?;
    write_whole(&args.output_path, &module)?;
    terminal::print(&format!(
        "{}: {} bytes\n",
        args.output_path.display(),
        module.len()
    ))
}

/// Writes a file whole or not at all: beside its place first, so that whatever goes wrong leaves
/// there what was there.
fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let directory = match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // As any new file; the system takes away what the user's umask says.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(directory)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
