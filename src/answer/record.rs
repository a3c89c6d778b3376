//! The record: the annotation of a repaired Pod that lists what this policy changed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::change::Changes;
use super::list::{LIST_MAX, joined};
use crate::request::{CHANGES_ANNOTATION, Metadata};

/// The size that the API server allows for all annotations of an object, with their keys, in bytes. Source:
/// `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The record of these changes. None if the other annotations leave no room for one. The entries of an earlier record come
/// last, so that a forged record can't take the room of the new entries.
pub(super) fn record(changes: &Changes<'_, '_>, metadata: &Metadata<'_>) -> Option<String> {
    let others = metadata.annotations().filter(|(key, _)| *key != CHANGES_ANNOTATION);
    let sizes = others
        .map(|(key, value)| key.len().saturating_add(value.as_str().unwrap_or_default().len()));
    let taken = sizes.fold(CHANGES_ANNOTATION.len(), usize::saturating_add);
    let room = ANNOTATIONS_MAX.saturating_sub(taken).min(LIST_MAX);
    let (earlier, more) =
        metadata.annotation(CHANGES_ANNOTATION).and_then(earlier).unwrap_or_default();
    let count = changes.count().saturating_add(earlier.len()).saturating_add(more);
    joined(changes.entries().chain(earlier), count, room)
}

/// The entries of an earlier record, and how many changes did not fit into it. None if it is no list of objects.
fn earlier(record: &str) -> Option<(Vec<String>, usize)> {
    #[derive(Deserialize)]
    struct Entry {
        more: Option<usize>,
    }
    let (mut entries, mut more) = (Vec::new(), 0_usize);
    for text in serde_json::from_str::<Vec<&RawValue>>(record).ok()? {
        match serde_json::from_str::<Entry>(text.get()).ok()?.more {
            Some(count) => more = more.saturating_add(count),
            None => entries.push(text.get().to_owned()),
        }
    }
    Some((entries, more))
}
