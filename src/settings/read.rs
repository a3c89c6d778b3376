//! Reads the settings into their structs.
//!
//! serde stops at the first problem. So the settings are read again without the wrong value, until the rest can be
//! read.

use k8s_openapi::api::core::v1::Container;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, Unexpected};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::problem::SettingsProblem;
use super::value_deserializer::{SettingsValue, is_absent_element, is_unset};
use super::{DefaultPullPolicy, Settings};
use crate::kubernetes_container;

/// The largest value of `registry.maxLookups`.
const MAX_LOOKUPS: usize = 100;
/// The largest number of values that are reported as wrong. Each of them costs one more reading of the settings.
const PROBLEMS_MAX: usize = 100;

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
pub(super) fn settings(mut tree: Value) -> (Settings, Vec<SettingsProblem>) {
    let mut problems = Vec::new();
    while problems.len() < PROBLEMS_MAX && !is_unset(&tree) {
        let error = match serde_path_to_error::deserialize(SettingsValue(&tree)) {
            Ok(settings) => return (settings, problems),
            Err(error) => error,
        };
        let mut path = String::new();
        let segments: Vec<&Segment> = error.path().iter().collect();
        let found = take(&mut tree, &segments, &mut path);
        let error = error.inner().to_string();
        problems.push(SettingsProblem::of_value(path, &found, &error));
    }
    (Settings::default(), problems)
}

/// Takes the value at this path out of a tree of settings. Adds the path to a text, e.g. `exempt.images[2]`. An index
/// in `path` doesn't count the elements that are absent, and an index in the text does.
fn take(value: &mut Value, path: &[&Segment], text: &mut String) -> Value {
    match (path, value) {
        ([Segment::Map { key }, rest @ ..], Value::Object(map)) => {
            let dot = if text.is_empty() { "" } else { "." };
            text.extend([dot, key]);
            match map.get_mut(key) {
                Some(value) if !rest.is_empty() => take(value, rest, text),
                _ => map.remove(key).unwrap_or_default(),
            }
        }
        ([Segment::Seq { index }, rest @ ..], Value::Array(list)) => {
            let elements = list.iter_mut().enumerate();
            let mut present = elements.filter(|(_, element)| !is_absent_element(element));
            let Some((index, element)) = present.nth(*index) else {
                return Value::Null;
            };
            text.extend(["[", &index.to_string(), "]"]);
            take(element, rest, text)
        }
        (_, value) => value.take(),
    }
}

/// Reads `imageChecks.template` as it is written. [`template_problems`](super::template_problems) reports fields with
/// a wrong value.
pub(super) fn check_template<'de, D: Deserializer<'de>>(source: D) -> Result<Container, D::Error> {
    let fields = Value::Object(Map::deserialize(source)?);
    Ok(kubernetes_container::read(&fields).unwrap_or_default())
}

/// Reads `defaults.imagePullPolicy`.
pub(super) fn default_pull_policy<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<DefaultPullPolicy>, D::Error> {
    let word = Value::deserialize(source)?;
    if word == "Never" {
        return Err(D::Error::custom(
            "is no default: nothing would pull the image",
        ));
    }
    let word = word.as_str().unwrap_or_default();
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
