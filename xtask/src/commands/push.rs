//! `cargo xtask push`: stores a policy in a registry, as `kwctl push` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::json;

use crate::commands::registry_args::RegistryArgs;
use crate::host::policy_artifact;
use crate::terminal;

/// Pushes an annotated module to a registry, as `kwctl push` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    registry: RegistryArgs,
    /// Also pushes a module that is not annotated
    #[arg(short, long)]
    force: bool,
    /// Prints the immutable reference as text, or in JSON as kwctl does
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: ReferenceFormat,
    /// The module
    module: PathBuf,
    /// The destination: `registry://host/repository:tag`
    uri: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReferenceFormat {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let module = fs::read(&args.module)
        .with_context(|| format!("cannot read module {}", args.module.display()))?;
    let reference =
        policy_artifact::push(&args.registry.client(30)?, &args.uri, module, args.force)?;
    terminal::print(&match args.output {
        ReferenceFormat::Text => format!("{reference}\n"),
        ReferenceFormat::Json => format!(
            "{}\n",
            json!({"immutable_ref": policy_artifact::without_scheme(&reference)})
        ),
    })
}
