//! The record: the annotation that lists the changes of this policy to the object. People read the
//! record, and *re-apply* uses it.

use std::borrow::Cow;

use super::field_changes::FieldChange;
use crate::document::Node;
use crate::request::{CHANGES_ANNOTATION, ExaminedObject};

/// The longest record, in bytes.
const RECORD_MAX: usize = 16 * 1024;
/// The size that the API server allows for all annotations of an object, with their keys, in
/// bytes. Source: `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The record of changes.
pub(super) struct ChangesRecord {
    /// The value of the annotation. None if the other annotations leave no room for a record.
    pub(super) value: Option<String>,
    /// The audit annotation `record`. None if only `RECORD_MAX` limits the record.
    pub(super) note: Option<&'static str>,
}

impl ChangesRecord {
    /// The record of these changes. The entries of the request's own record come last, so that a forged
    /// record can't take the room of the new entries. Changes that do not fit are only counted.
    pub(super) fn of(changes: &[FieldChange<'_>], object: &ExaminedObject<'_>) -> Self {
        let incoming = object.metadata.record();
        let others = other_annotations(object);
        let room = ANNOTATIONS_MAX
            .saturating_sub(others)
            .saturating_sub(CHANGES_ANNOTATION.len());
        let (earlier, more) = incoming
            .as_deref()
            .and_then(read_record)
            .unwrap_or_default();
        let own = changes
            .iter()
            .filter_map(|change| serde_json::to_string(change).ok());
        let items = own
            .map(Cow::Owned)
            .chain(earlier.into_iter().map(Cow::Borrowed));
        let value = list(items, more, room.min(RECORD_MAX));
        let note = match &value {
            None => Some("left out: the annotations would be larger than 262144 bytes"),
            Some(value) if room < RECORD_MAX && value.contains("{\"more\":") => {
                Some("shortened: the annotations would be larger than 262144 bytes")
            }
            Some(_) => None,
        };
        Self { value, note }
    }
}

/// The size of all annotations apart from the record, in bytes, as the API server counts it.
fn other_annotations(object: &ExaminedObject<'_>) -> usize {
    let annotations = object.metadata.annotations.iter().flat_map(Node::members);
    let others = annotations.filter(|(key, _)| key != CHANGES_ANNOTATION);
    others
        .map(|(key, value)| {
            let value = value.as_string().unwrap_or_default();
            key.len().saturating_add(value.len())
        })
        .fold(0, usize::saturating_add)
}

/// The first items that fit into `room` bytes, as a JSON list. The other items are only counted. None
/// if there is no room for brackets and a count.
fn list<'i>(
    items: impl Iterator<Item = Cow<'i, str>>,
    mut more: usize,
    room: usize,
) -> Option<String> {
    // Brackets and the count of the other items need some room.
    let mut left = room.checked_sub(40)?;
    let mut kept = Vec::new();
    let mut is_full = false;
    for item in items {
        match left.checked_sub(item.len().saturating_add(1)) {
            Some(rest) if !is_full => {
                left = rest;
                kept.push(item.into_owned());
            }
            _ => {
                is_full = true;
                more = more.saturating_add(1);
            }
        }
    }
    if more > 0 {
        kept.push(format!("{{\"more\":{more}}}"));
    }
    Some(format!("[{}]", kept.join(",")))
}

/// The entries of the incoming record, and the count of the changes that did not fit into it. None if
/// the record doesn't have the form that this policy writes. Then none of its entries are kept.
fn read_record(record: &str) -> Option<(Vec<&str>, usize)> {
    let mut items = Vec::new();
    let mut more: usize = 0;
    for item in Node::read(record).ok()?.as_list().ok()? {
        match RecordEntry::read(&item)? {
            RecordEntry::Change => items.push(item.text()),
            RecordEntry::More(count) => more = more.saturating_add(count),
        }
    }
    Some((items, more))
}

/// An entry of a record.
enum RecordEntry {
    Change,
    /// The count of the changes that did not fit.
    More(usize),
}

impl RecordEntry {
    /// Reads an entry. None if the entry doesn't have the form that this policy writes.
    fn read(element: &Node<'_>) -> Option<Self> {
        const KEYS: [&str; 6] = ["path", "container", "from", "to", "rule", "more"];
        let path = element.string("path").ok()?;
        let rule = element.string("rule").ok()?;
        element.string("container").ok()?;
        if !element
            .members()
            .iter()
            .all(|(key, _)| KEYS.contains(&&**key))
        {
            return None;
        }
        match (path, rule, element.get("more")) {
            (None, _, Some(count)) => count.text().parse().ok().map(Self::More),
            (Some(_), Some(_), None) => Some(Self::Change),
            _ => None,
        }
    }
}
