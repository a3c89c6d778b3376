//! Reads the settings into their structs.

use k8s_openapi::api::core::v1::Container;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, Unexpected};
use serde_json::{Map, Value};
use settings_reader::SettingsOrKubernetesObject;

use super::problem::SettingsProblem;
use super::{DefaultPullPolicy, Settings};

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

/// Reads `imageChecks.template` as it is written. [`template_problems`](super::template_problems) reports the fields
/// that Kubernetes doesn't know.
pub(super) fn check_template<'de, D: Deserializer<'de>>(source: D) -> Result<Container, D::Error> {
    let fields = Value::Object(Map::deserialize(source)?);
    Ok(settings_reader::read_container(&fields, "").0)
}

/// Reads `defaults.imagePullPolicy`.
pub(super) fn default_pull_policy<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<DefaultPullPolicy>, D::Error> {
    const WORDS: &[&str] = &["Always", "IfNotPresent", "AlwaysUnlessDigest"];
    let Ok(word) = String::deserialize(source) else {
        return Err(D::Error::unknown_variant("", WORDS));
    };
    if word == "Never" {
        return Err(D::Error::custom(
            "is no default: nothing would pull the image",
        ));
    }
    DefaultPullPolicy::deserialize(word.into_deserializer()).map(Some)
}

/// Reads `registry.maxLookups`.
pub(super) fn max_lookups<'de, D: Deserializer<'de>>(source: D) -> Result<usize, D::Error> {
    let number = usize::deserialize(source).ok();
    number
        .filter(|number| (1..=MAX_LOOKUPS).contains(number))
        .ok_or_else(|| {
            let wanted = format!("a whole number from 1 to {MAX_LOOKUPS}");
            D::Error::invalid_value(Unexpected::Other("value"), &wanted.as_str())
        })
}
