//! `cargo xtask schema`: the JSON Schema of the policy's settings, which editors complete and check
//! with; the playground is built with it.

use anyhow::{Context, Result};
use consistent_pull_policy::settings::Settings;

use crate::terminal;

/// Prints the JSON Schema of the policy's settings, for editors
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the command.
pub(crate) fn run(_: &Args) -> Result<()> {
    let schema = serde_json::to_string_pretty(&Settings::schema())
        .context("cannot write the schema as JSON")?;
    terminal::print(&format!("{schema}\n"))
}
