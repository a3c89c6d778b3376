//! `cargo xtask push`: stores a policy in a registry, as `kwctl push` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::json;

use crate::commands::pull::RegistryArgs;
use crate::host::artifact;
use crate::terminal;

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    registry: RegistryArgs,
    /// Pushes a module that is not annotated, too
    #[arg(short, long)]
    force: bool,
    /// How the answer is printed: the immutable reference alone, or in JSON as kwctl does
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// The module
    module: PathBuf,
    /// Where to: `registry://host/repository:tag`
    uri: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let module = fs::read(&args.module)
        .with_context(|| format!("cannot read module {}", args.module.display()))?;
    let reference = artifact::push(&args.registry.registries()?, &args.uri, module, args.force)?;
    terminal::print(&match args.output {
        Format::Text => format!("{reference}\n"),
        Format::Json => format!(
            "{}\n",
            json!({"immutable_ref": artifact::without_scheme(&reference)})
        ),
    })
}
