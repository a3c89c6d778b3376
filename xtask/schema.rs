//! The JSON Schema of the settings, for the playground. This is an example of this policy's crate,
//! because xtask is not compiled with the crate.

use consistent_pull_policy::settings::Settings;

fn main() -> serde_json::Result<()> {
    let schema = serde_json::to_string_pretty(&Settings::schema())?;
    println!("{schema}");
    Ok(())
}
