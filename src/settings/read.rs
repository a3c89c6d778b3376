//! Reads the settings into their structs.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Value;
use settings_reader::SettingsOrKubernetesObject;

use super::Settings;
use super::problem::SettingsProblem;

/// The largest value of `registry.maxLookups`.
const MAX_LOOKUPS: usize = 100;

/// Reads the text of the settings.
///
/// # Errors
/// The text is not JSON.
pub(super) fn tree(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("the settings are no valid JSON at line {line}, column {column}")
    })
}

/// Reads the settings, and returns at most 100 problems of values that can't be read. Such a value is
/// left out: its setting has the default, or the list that contains the value is read without it.
pub(super) fn settings(tree: &Value) -> (Settings, Vec<SettingsProblem>) {
    let kind = SettingsOrKubernetesObject::Settings;
    let (settings, problems) = settings_reader::read(tree, "", kind);
    let problems = problems.into_iter();
    let problems = problems.map(|problem| SettingsProblem::of_value(problem, kind));
    (settings, problems.collect())
}

/// Reads `registry.maxLookups`.
pub(super) fn max_lookups<'de, D: Deserializer<'de>>(source: D) -> Result<usize, D::Error> {
    let number = usize::deserialize(source).ok();
    number
        .filter(|number| *number <= MAX_LOOKUPS)
        .ok_or_else(|| {
            let wanted = format!("a whole number from 0 to {MAX_LOOKUPS}");
            D::Error::invalid_value(Unexpected::Other("value"), &wanted.as_str())
        })
}
