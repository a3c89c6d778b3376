//! The annotations of a Pod that mode `Fix` writes: the record of its changes, and the warnings.
//!
//! Nearly every Pod is made by a controller, and controllers throw the warnings of an answer away.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::change::Change;
use super::json_list::{LIST_MAX, joined, json};
use crate::request::Metadata;

/// The annotation of a repaired Pod that lists what this policy changed.
const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";
/// The annotation of a Pod that lists what this policy found and did not repair.
const WARNINGS_ANNOTATION: &str = "consistent-pull-policy/warnings";

/// The size that the API server allows for all annotations of an object, with their keys, in bytes. Source:
/// `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The annotations to write. One that would stay as it is, or for which the others leave no room, is left out.
pub(super) fn annotations(
    changes: &[Change<'_>],
    warnings: &[String],
    metadata: &Metadata<'_>,
) -> impl Iterator<Item = (&'static str, String)> {
    let mut written = Vec::new();
    if changes.is_empty() && warnings.is_empty() {
        return written.into_iter();
    }
    let own = [CHANGES_ANNOTATION, WARNINGS_ANNOTATION];
    let others = metadata.annotations().filter(|(key, _)| !own.contains(key));
    let sizes = others.map(|(key, value)| size(key, value.as_str()));
    let room = ANNOTATIONS_MAX.saturating_sub(sizes.fold(0, usize::saturating_add));
    let stored = |key| size(key, metadata.annotation(key));

    let room_of_record = room.saturating_sub(stored(WARNINGS_ANNOTATION));
    let record = record(
        changes,
        metadata,
        room_of_record.saturating_sub(CHANGES_ANNOTATION.len()),
    );
    let size_of_record = record.as_deref().map_or_else(
        || stored(CHANGES_ANNOTATION),
        |text| size(CHANGES_ANNOTATION, Some(text)),
    );
    let room = room
        .saturating_sub(size_of_record)
        .saturating_sub(WARNINGS_ANNOTATION.len());
    let warnings = with_earlier(warnings, metadata, room);
    written.extend(record.map(|record| (CHANGES_ANNOTATION, record)));
    written.extend(warnings.map(|warnings| (WARNINGS_ANNOTATION, warnings)));
    written.into_iter()
}

/// The size of an annotation, in bytes. 0 if it is missing.
fn size(key: &str, value: Option<&str>) -> usize {
    value.map_or(0, |value| key.len().saturating_add(value.len()))
}

/// The record of these changes. None if there are none, or no room for one. The entries of an earlier record come last, so
/// that a forged record can't take the room of the new entries.
fn record(changes: &[Change<'_>], metadata: &Metadata<'_>, room: usize) -> Option<String> {
    if changes.is_empty() {
        return None;
    }
    let earlier = metadata
        .annotation(CHANGES_ANNOTATION)
        .and_then(earlier_record);
    let (earlier, more) = earlier.unwrap_or_default();
    let count = changes.len().saturating_add(earlier.len());
    joined(
        changes.iter().map(json).chain(earlier),
        count,
        more,
        room.min(LIST_MAX),
    )
}

/// The entries of an earlier record, and how many changes did not fit into it. None if it is no list of objects.
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

/// The earlier warnings of the Pod, followed by those of these warnings that are new. None if none is new and fits.
fn with_earlier(warnings: &[String], metadata: &Metadata<'_>, room: usize) -> Option<String> {
    let earlier = metadata
        .annotation(WARNINGS_ANNOTATION)
        .and_then(|text| list(text, '"'));
    let mut all = earlier.unwrap_or_default();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    known.extend(&all);
    let warnings: Vec<String> = warnings.iter().map(json).collect();
    let (count, mut size) = (all.len(), "[]".len());
    for entry in &all {
        size = size.saturating_add(entry.len()).saturating_add(",".len());
    }
    for warning in warnings.iter().filter(|warning| known.insert(warning)) {
        size = size.saturating_add(warning.len()).saturating_add(",".len());
        if size > room.min(LIST_MAX) {
            break;
        }
        all.push(warning);
    }
    (all.len() > count).then(|| ["[", &all.join(","), "]"].concat())
}

/// The elements of a JSON list. None if an element begins otherwise.
fn list(text: &str, begin: char) -> Option<Vec<&str>> {
    let elements = serde_json::from_str::<Vec<&RawValue>>(text).ok()?;
    let elements: Vec<&str> = elements.into_iter().map(RawValue::get).collect();
    elements
        .iter()
        .all(|element| element.starts_with(begin))
        .then_some(elements)
}
