//! A policy's settings on the command line: a file, or an argument.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The settings of a policy: a JSON object.
pub(crate) type Settings = Map<String, Value>;

/// Reads the settings from a file in YAML or JSON, else from an argument in JSON. Without a file and an
/// argument, the settings are empty. If the file begins with the manifest of a policy, the settings are those of this
/// policy.
pub(crate) fn read_settings(path: Option<&Path>, json: Option<&str>) -> Result<Settings> {
    let value: Value = match (path, json) {
        (Some(path), _) => {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read settings {}", path.display()))?;
            let mut documents = yaml_serde::Deserializer::from_str(&text);
            let first = documents.next().map(Value::deserialize).transpose();
            let first =
                first.with_context(|| format!("cannot parse settings {}", path.display()))?;
            let mut first = first.unwrap_or_default();
            if first["kind"] == "ClusterAdmissionPolicy" {
                first["spec"]["settings"].take()
            } else {
                first
            }
        }
        (None, Some(json)) => {
            serde_json::from_str(json).context("cannot parse --settings-json as JSON")?
        }
        (None, None) => Value::Null,
    };
    match value {
        Value::Null => Ok(Settings::new()),
        Value::Object(settings) => Ok(settings),
        _ => bail!("Invalid settings in CRD, not an object"),
    }
}
