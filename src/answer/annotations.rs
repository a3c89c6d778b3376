//! The annotations: those of the audit log, and those that mode `Fix` writes into a Pod.
//!
//! Nearly every Pod is made by a controller, and controllers discard the warnings of an answer. So a Pod
//! carries the record of its changes, and the warnings.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::changes::{Change, Edit};
use super::sentences::unrepaired;
use crate::pod::{Entry, Pod, What};
use crate::sanitize::sanitize;

/// The audit annotations. None has no entries.
pub fn audit_annotations(pod: &Pod, changes: &[Change]) -> HashMap<String, String> {
    let findings = pod.entries.iter().filter(|entry| entry.is_finding());
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|entry| entry.position());
    let findings = findings.iter().map(|entry| Finding::of(pod, entry));
    let lookups = pod.entries.iter().filter_map(|entry| match &entry.what {
        What::Lookup(image, action, class) => Some((image, action, class)),
        _ => None,
    });
    let lookups: Vec<_> = lookups.collect();
    let lookups = lookups.iter().map(|(image, action, class)| {
        json!({"image": sanitize(image), "failure": class, "action": action})
    });
    let lists = [
        ("findings", joined(findings, None, LIST_MAX)),
        ("changes", joined(changes.iter(), None, LIST_MAX)),
        ("lookups", joined(lookups, None, LIST_MAX)),
    ];
    let lists = lists.into_iter();
    lists
        .filter_map(|(key, list)| Some((key.to_owned(), list?)))
        .collect()
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
    fn of(pod: &'e Pod, entry: &Entry) -> Option<Self> {
        let pull = pod.pulls.get(entry.pull)?;
        let (key, found, expected) = entry.field(pull);
        let expected = match entry.what {
            What::Check(position) => pod
                .pulls
                .get(position)
                .map(|check| format!("{} with {}", check.name, check.policy).into()),
            What::NoCheck => Some("an image check".into()),
            _ => expected.map(sanitize),
        };
        Some(Self {
            rule: entry.rule,
            path: pull.field_path(pod.request.kind.spec_path(), pull.index, key),
            container: sanitize(&pull.name),
            image: sanitize(pull.written_image),
            found: found.map(sanitize),
            expected,
        })
    }
}

/// This annotation of a repaired Pod lists what this policy changed.
const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";
/// This annotation of a Pod lists what this policy found and did not repair.
const WARNINGS_ANNOTATION: &str = "consistent-pull-policy/warnings";

/// The size that the API server allows for all annotations of an object, with their keys, in bytes.
/// Source: `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The edits that write the annotations. None that would not change, and none for which the
/// others leave no room.
pub fn pod_annotations(pod: &Pod, changes: &[Change]) -> Vec<Edit> {
    let metadata = &pod.metadata;
    let mut warnings = pod
        .entries
        .iter()
        .filter_map(|entry| unrepaired(pod, entry));
    let sizes = metadata.annotations.into_iter().flatten();
    let sizes = sizes.map(|(key, value)| size(key, value.as_str()));
    let mut free = ANNOTATIONS_MAX.saturating_sub(sizes.fold(0, usize::saturating_add));
    let mut written = Vec::new();
    for key in [CHANGES_ANNOTATION, WARNINGS_ANNOTATION] {
        let earlier = metadata.annotation(key);
        let room = free.saturating_add(size(key, earlier));
        let max = room.saturating_sub(key.len()).min(LIST_MAX);
        let list = match key {
            CHANGES_ANNOTATION => joined(changes.iter(), earlier, max),
            _ => with_earlier(&mut warnings, earlier, max),
        };
        if let Some(list) = list {
            free = room.saturating_sub(size(key, Some(&list)));
            let path = ["metadata.annotations.", key].concat();
            written.push((path, None, list.into()));
        }
    }
    written
}

/// The size of an annotation, in bytes. 0 if it is missing.
fn size(key: &str, value: Option<&str>) -> usize {
    value.map_or(0, |value| key.len().saturating_add(value.len()))
}

/// The entries of an earlier record, and how many changes did not fit into it.
type Earlier = (Vec<String>, u64);

/// Reads an earlier record. None if it is no list of objects.
fn earlier_record(record: &str) -> Option<Earlier> {
    let (mut entries, mut more) = Earlier::default();
    for entry in serde_json::from_str::<Vec<&RawValue>>(record).ok()? {
        let members: Map<String, Value> = serde_json::from_str(entry.get()).ok()?;
        match members.get("more").and_then(Value::as_u64) {
            Some(count) => more = more.saturating_add(count),
            None => entries.push(entry.get().to_owned()),
        }
    }
    Some((entries, more))
}

/// The earlier warnings of the Pod, followed by each of `warnings` that they lack. None if nothing
/// is added.
fn with_earlier(
    warnings: &mut dyn Iterator<Item = String>,
    earlier: Option<&str>,
    max: usize,
) -> Option<String> {
    let earlier = earlier.and_then(|list| serde_json::from_str(list).ok());
    let mut all: Vec<String> = earlier.unwrap_or_default();
    let count = all.len();
    let mut known: BTreeSet<String> = all.iter().cloned().collect();
    let mut size = to_json(&all).len();
    for warning in warnings {
        if !known.insert(warning.clone()) {
            continue;
        }
        let sizes = [to_json(&warning).len(), ",".len()];
        size = sizes.into_iter().fold(size, usize::saturating_add);
        if size > max {
            break;
        }
        all.push(warning);
    }
    (all.len() > count).then(|| to_json(&all))
}

/// The largest size of a list, in bytes.
const LIST_MAX: usize = 16 * 1024;
/// Enough for the entry that counts what doesn't fit: `{"more":18446744073709551615}` and a comma.
const MORE_MAX: usize = 32;

/// A value as JSON. serde can write every value of this policy's answers.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// These entries, and those of an earlier record, as a list of at most `max` bytes. Its last entry
/// counts what doesn't fit. None without new entries, or if not even the last entry fits. The earlier
/// entries come last, so that a forged record can't take the room of the new ones.
fn joined(
    entries: impl ExactSizeIterator<Item = impl Serialize>,
    earlier: Option<&str>,
    max: usize,
) -> Option<String> {
    let count = entries.len();
    if count == 0 {
        return None;
    }
    let (earlier, more) = earlier.and_then(earlier_record).unwrap_or_default();
    let mut list = String::from("[");
    let count = u64::try_from(count.saturating_add(earlier.len())).unwrap_or(u64::MAX);
    let mut left_out = count.saturating_add(more);
    for entry in entries.map(|entry| to_json(&entry)).chain(earlier) {
        let sizes = [list.len(), entry.len(), MORE_MAX];
        if sizes.into_iter().fold(0, usize::saturating_add) > max {
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
