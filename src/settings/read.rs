//! Reads the settings into their structs.
//!
//! serde stops at the first problem. So the settings are read again without the wrong value, until the rest can be
//! read.

use k8s_openapi::api::core::v1::Container;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, Unexpected};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::problem::{SettingsProblem, is_in};
use super::value_conventions::{SettingsValue, is_unset, present_elements};
use super::{DefaultPullPolicy, Settings};
use crate::kubernetes_container_json;

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
    let mut shortened_lists = Vec::new();
    while problems.len() < PROBLEMS_MAX && !is_unset(&tree) {
        let error = match serde_path_to_error::deserialize(SettingsValue(&tree)) {
            Ok(settings) => return (settings, problems),
            Err(error) => error,
        };
        let mut path = String::new();
        let segments: Vec<&Segment> = error.path().iter().collect();
        let found = take(&mut tree, &segments, &mut path, &mut shortened_lists);
        let problem = SettingsProblem::of_value(path, &found, &error.inner().to_string());
        // A required list is missing once all its elements were taken out as wrong.
        let mut known = problems.iter().map(|known: &SettingsProblem| &known.path);
        if !known.any(|known| is_in(known, &problem.path)) {
            problems.push(problem);
        }
    }
    (Settings::default(), problems)
}

/// Takes the value at this path out of a tree of settings, and adds the path in the settings as they are written to
/// `written_path`, e.g. `exempt.images[2]`. `shortened_lists` has the path of a list for each element that was taken
/// out of it.
fn take(
    value: &mut Value,
    path: &[&Segment],
    written_path: &mut String,
    shortened_lists: &mut Vec<String>,
) -> Value {
    match (path, value) {
        ([Segment::Map { key }, rest @ ..], Value::Object(map)) => {
            let dot = if written_path.is_empty() { "" } else { "." };
            written_path.extend([dot, key]);
            match map.get_mut(key) {
                Some(value) if !rest.is_empty() => take(value, rest, written_path, shortened_lists),
                _ => map.remove(key).unwrap_or_default(),
            }
        }
        ([Segment::Seq { index }, rest @ ..], Value::Array(list)) => {
            let present = present_elements(list).nth(*index);
            let Some(index) = present.map(|(index, _)| index) else {
                return Value::Null;
            };
            // serde reads a list from its start, so the elements that are missing by now stood before this one.
            let list_path = written_path.clone();
            let taken = shortened_lists.iter().filter(|path| **path == list_path);
            let written_index = index.saturating_add(taken.count());
            written_path.extend(["[", &written_index.to_string(), "]"]);
            match list.get_mut(index) {
                Some(element) if !rest.is_empty() => {
                    take(element, rest, written_path, shortened_lists)
                }
                _ => {
                    shortened_lists.push(list_path);
                    list.remove(index)
                }
            }
        }
        (_, value) => value.take(),
    }
}

/// Reads `imageChecks.template` as it is written. [`template_problems`](super::template_problems) reports fields that
/// Kubernetes doesn't know.
///
/// The container is boxed: its type has more than 1,000 bytes. Without the box, each request needs four more pages of
/// the stack, which take a twentieth of the time.
pub(super) fn check_template<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Box<Container>, D::Error> {
    let fields = Value::Object(Map::deserialize(source)?);
    let container = kubernetes_container_json::read(&fields);
    container
        .map(|(known, _)| Box::new(known))
        .map_err(D::Error::custom)
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
