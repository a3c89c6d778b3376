//! `cargo xtask schema`: prints the JSON Schema of this policy's settings. Editors use the schema to
//! complete and check settings, and the build of the playground uses the schema too.

use anyhow::{Context, Result};
use consistent_pull_policy::settings::Settings;

use crate::terminal;

pub(crate) fn run() -> Result<()> {
    let schema = serde_json::to_string_pretty(&Settings::schema())
        .context("cannot write the schema as JSON")?;
    terminal::print(&format!("{schema}\n"))
}
