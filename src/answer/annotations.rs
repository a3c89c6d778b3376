//! The annotations: those of the audit log, and those that mode `Fix` writes into a Pod.
//!
//! Nearly every Pod is made by a controller, and controllers discard the warnings of an answer. So a Pod
//! carries the record of its changes, and the warnings.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::changes::Change;
use crate::entry::{Entry, What};
use crate::pod::{Pod, Pull};
use crate::request::Metadata;
use crate::sanitize::sanitize;

/// The audit annotations. None has no entries.
pub fn audit_annotations(
    pod: &Pod<'_>,
    entries: &[Entry<'_>],
    changes: &[Change<'_>],
) -> HashMap<String, String> {
    let mut annotations = HashMap::new();
    let mut add = |key: &str, count: usize, entries: &mut dyn Iterator<Item = String>| {
        if count > 0 {
            let list = joined(entries, count, 0, LIST_MAX);
            annotations.extend(list.map(|list| (key.to_owned(), list)));
        }
    };
    let findings = entries.iter().filter(|entry| entry.is_finding());
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|entry| entry.position());
    let mut of_findings = findings.iter().filter_map(|entry| {
        let pull = pod.pulls.get(entry.pull)?;
        Some(to_json(&Finding::of(pod, pull, entry)))
    });
    add("findings", findings.len(), &mut of_findings);
    add("changes", changes.len(), &mut changes.iter().map(to_json));
    let lookups = entries.iter().filter_map(|entry| match &entry.what {
        What::Lookup(image, action, class) => Some((image, action, class)),
        _ => None,
    });
    let count = lookups.clone().count();
    let mut of_lookups = lookups.map(|(image, action, class)| {
        json!({"image": sanitize(image), "failure": class, "action": action}).to_string()
    });
    add("lookups", count, &mut of_lookups);
    annotations
}

/// An entry of `findings`.
#[derive(Serialize)]
struct Finding<'e> {
    rule: &'static str,
    path: String,
    container: Cow<'e, str>,
    image: Cow<'e, str>,
    found: Option<Cow<'e, str>>,
    expected: Option<Cow<'e, str>>,
}

impl<'e> Finding<'e> {
    fn of(pod: &Pod<'_>, pull: &'e Pull<'_>, entry: &'e Entry<'_>) -> Self {
        let (list, image) = (pull.list, sanitize(pull.written_image));
        let (key, found, expected) = match &entry.what {
            What::Policy(policy) | What::FixedPolicy(policy) => {
                let found = pull.written_policy.map(|found| found.as_str().into());
                (list.policy_key(), found, Some(policy.as_str().into()))
            }
            What::Check(position) => {
                let check = pod.pulls.get(*position);
                let text =
                    |check: &Pull<'_>| format!("{} with {}", check.name, check.policy.as_str());
                (
                    list.image_key(),
                    None,
                    check.map(|check| text(check).into()),
                )
            }
            What::NoCheck => (list.image_key(), None, Some("an image check".into())),
            What::Image(to) => (list.image_key(), Some(image.clone()), Some(sanitize(to))),
            _ => (list.image_key(), Some(image.clone()), None),
        };
        Self {
            rule: entry.rule,
            path: pull.field_path(pod.request.kind.spec_path(), pull.index, key),
            container: sanitize(&pull.name),
            found,
            expected,
            image,
        }
    }
}

/// This annotation of a repaired Pod lists what this policy changed.
const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";
/// This annotation of a Pod lists what this policy found and did not repair.
const WARNINGS_ANNOTATION: &str = "consistent-pull-policy/warnings";

/// The size that the API server allows for all annotations of an object, with their keys, in bytes.
/// Source: `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The annotations to write. None that would not change, and none for which the
/// others leave no room.
pub fn pod_annotations(
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

/// The largest size of a list, in bytes.
pub const LIST_MAX: usize = 16 * 1024;
/// Enough for the entry that counts what doesn't fit: `{"more":18446744073709551615}` and a comma.
const MORE_MAX: usize = 32;

/// A value as JSON. serde can write every value of this policy's answers.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Entries as a list of at most `max` bytes. The last entry counts what doesn't fit: those of the
/// `count` entries, and `more` for which an earlier list had no room. None if not even
/// this entry fits.
fn joined(
    entries: impl Iterator<Item = String>,
    count: usize,
    more: u64,
    max: usize,
) -> Option<String> {
    let mut list = String::from("[");
    let mut left_out = u64::try_from(count)
        .unwrap_or(u64::MAX)
        .saturating_add(more);
    for entry in entries {
        let size = list
            .len()
            .saturating_add(entry.len())
            .saturating_add(MORE_MAX);
        if size > max {
            break;
        }
        list.extend([&entry, ","]);
        left_out = left_out.saturating_sub(1);
    }
    if left_out > 0 {
        list.extend(["{\"more\":", &left_out.to_string(), "}"]);
    } else if list.ends_with(',') {
        list.pop();
    }
    list.push(']');
    (list.len() <= max).then_some(list)
}
