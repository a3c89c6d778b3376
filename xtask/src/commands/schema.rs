//! `cargo xtask schema`: prints the JSON Schema of this policy's settings. Editors complete and
//! check settings with it, and the playground is built with it.

use anyhow::{Context, Result};
use consistent_pull_policy::settings::Settings;

use crate::terminal;

pub(crate) fn run() -> Result<()> {
    let schema = serde_json::to_string_pretty(&Settings::schema())
        .context("cannot write the schema as JSON")?;
    terminal::print(&format!("{schema}\n"))
}
