//! The annotations that mode `Fix` writes into a Pod: the record of its changes, and the warnings.
//!
//! Nearly every Pod is made by a controller, and controllers throw the warnings of an answer away.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::changes::Change;
use super::json_list::{LIST_MAX, joined, to_json};
use crate::request::Metadata;

/// This annotation of a repaired Pod lists what this policy changed.
const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";
/// This annotation of a Pod lists what this policy found and did not repair.
const WARNINGS_ANNOTATION: &str = "consistent-pull-policy/warnings";

/// The size that the API server allows for all annotations of an object, with their keys, in bytes.
/// Source: `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The annotations to write. An annotation is left out if it would not change, or if the others
/// leave no room for it.
pub(super) fn annotations(
    changes: &[Change<'_>],
    warnings: &[String],
    metadata: &Metadata<'_>,
) -> Vec<(&'static str, String)> {
    let mut written = Vec::new();
    if changes.is_empty() && warnings.is_empty() {
        return written;
    }
    let sizes = metadata
        .annotations()
        .map(|(key, value)| size(key, value.as_str()));
    let mut free = ANNOTATIONS_MAX.saturating_sub(sizes.fold(0, usize::saturating_add));
    let mut add = |key: &'static str, list: &dyn Fn(usize) -> Option<String>| {
        let room = free.saturating_add(size(key, metadata.annotation(key)));
        if let Some(list) = list(room.saturating_sub(key.len()).min(LIST_MAX)) {
            free = room.saturating_sub(size(key, Some(&list)));
            written.push((key, list));
        }
    };
    add(CHANGES_ANNOTATION, &|max| record(changes, metadata, max));
    add(WARNINGS_ANNOTATION, &|max| {
        with_earlier(warnings, metadata, max)
    });
    written
}

/// The size of an annotation, in bytes. 0 if it is missing.
fn size(key: &str, value: Option<&str>) -> usize {
    value.map_or(0, |value| key.len().saturating_add(value.len()))
}

/// The record of these changes. None without changes or without room. The entries of an
/// earlier record come last, so that a forged record can't take the room of the new entries.
fn record(changes: &[Change<'_>], metadata: &Metadata<'_>, max: usize) -> Option<String> {
    if changes.is_empty() {
        return None;
    }
    let earlier = metadata
        .annotation(CHANGES_ANNOTATION)
        .and_then(earlier_record);
    let (earlier, more) = earlier.unwrap_or_default();
    let count = changes.len().saturating_add(earlier.len());
    joined(changes.iter().map(to_json).chain(earlier), count, more, max)
}

/// The entries of an earlier record, and how many changes did not fit into it. None if it is no
/// list of objects.
fn earlier_record(record: &str) -> Option<(Vec<String>, u64)> {
    #[derive(Deserialize)]
    struct Entry {
        more: Option<u64>,
    }
    let (mut entries, mut more) = (Vec::new(), 0_u64);
    for entry in list(record, '{')? {
        match serde_json::from_str::<Entry>(entry).ok()?.more {
            Some(count) => more = more.saturating_add(count),
            None => entries.push(entry.to_owned()),
        }
    }
    Some((entries, more))
}

/// The earlier warnings of the Pod, followed by each of `warnings` that they lack. None if nothing
/// is added.
fn with_earlier(warnings: &[String], metadata: &Metadata<'_>, max: usize) -> Option<String> {
    let earlier = metadata.annotation(WARNINGS_ANNOTATION);
    let earlier = earlier.and_then(|text| list(text, '"')).unwrap_or_default();
    let warnings: Vec<String> = warnings.iter().map(to_json).collect();
    let mut known: BTreeSet<&str> = earlier.iter().copied().collect();
    let mut all = earlier.join(",");
    let before = all.len();
    for warning in warnings.iter().filter(|warning| known.insert(warning)) {
        let size = all.len().saturating_add(warning.len());
        if size.saturating_add("[,]".len()) > max {
            break;
        }
        if !all.is_empty() {
            all.push(',');
        }
        all.push_str(warning);
    }
    (all.len() > before).then(|| ["[", &all, "]"].concat())
}

/// The elements of a JSON list. None if the text is no JSON list, or if an element doesn't start
/// with `begin`.
fn list(text: &str, begin: char) -> Option<Vec<&str>> {
    let elements = serde_json::from_str::<Vec<&RawValue>>(text).ok()?;
    let elements: Vec<&str> = elements.into_iter().map(RawValue::get).collect();
    elements
        .iter()
        .all(|element| element.starts_with(begin))
        .then_some(elements)
}
