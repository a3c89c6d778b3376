//! The record lists exactly the differences between the Pod that came in and the Pod that `Fix`
//! returned, as far as 16 KiB go. An earlier record's entries stay behind the new ones.

use serde_json::{Value, json};

use super::answer::LIST_BYTES;
use super::{Kept, RECORD, Repaired, hold};
use crate::json::{entries_in, text};

/// The API server's limit for the keys and values of an object's annotations, in bytes.
const ANNOTATIONS_BYTES: usize = 256 * 1024;

/// The parts of an entry that follow from the two Pods: the path, and the values before and after.
fn differences(repaired: &Repaired) -> Vec<Value> {
    let mut entries = Vec::new();
    for (old, new) in repaired.pairs() {
        for (field, from, to) in [
            ("image", old.image, new.image),
            ("pull policy", old.written, new.written),
        ] {
            if from != to {
                entries.push(json!([new.path(field), new.name, from, to]));
            }
        }
    }
    let added = repaired
        .new
        .places
        .iter()
        .filter(|new| repaired.is_added(new));
    entries.extend(added.map(|new| json!([new.path(""), new.name, "", new.image])));
    entries
}

fn compared(entry: &Value) -> Value {
    let to = match &entry["to"] {
        Value::Object(added) => added.get("image").unwrap_or(&Value::Null),
        text => text,
    };
    // The summary of a volume holds the image as Kubernetes writes it.
    let to = to.get("reference").unwrap_or(to);
    json!([entry["path"], entry["container"], text(&entry["from"]), to])
}

/// The entries of a list, and the number of those that did not fit.
fn split(list: Vec<Value>) -> (Vec<Value>, u64) {
    let (counts, entries): (Vec<_>, Vec<_>) =
        list.into_iter().partition(|entry| entry["more"].is_u64());
    let more = counts.iter().filter_map(|count| count["more"].as_u64());
    (entries, more.fold(0, u64::saturating_add))
}

/// The entries of the request's own record. There are none if it is not a list of objects.
fn earlier(repaired: &Repaired) -> Vec<Value> {
    let record = entries_in(&repaired.before["metadata"]["annotations"][RECORD]);
    let is_entry = |entry: &Value| entry.is_object();
    let record = record.filter(|entries| entries.iter().all(is_entry));
    record.unwrap_or_default()
}

pub(super) fn lists_the_differences(repaired: &Repaired) -> Kept {
    let differences = differences(repaired);
    let fits = |list: &[Value], more: u64, whole: &[Value]| {
        let is_part = list.iter().all(|entry| whole.contains(entry));
        is_part && list.len() as u64 + more == whole.len() as u64
    };
    let (changes, more) = split(repaired.observed.list("changes"));
    let changes: Vec<Value> = changes.iter().map(compared).collect();
    hold(fits(&changes, more, &differences), || {
        format!(
            "the differences are {differences:?}, the audit annotation has {changes:?} and {more} more"
        )
    })?;
    if differences.is_empty() {
        return Ok(());
    }
    let annotation = &repaired.after["metadata"]["annotations"][RECORD];
    let others = repaired.before["metadata"]["annotations"].as_object();
    let others = others
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != RECORD);
    let used: usize = others
        .map(|(key, value)| key.len() + text(value).len())
        .sum();
    let room = ANNOTATIONS_BYTES.saturating_sub(used + RECORD.len());
    // Near the limit for all annotations, the record is shortened or left out.
    if room < LIST_BYTES {
        return Ok(());
    }
    let Some(list) = entries_in(annotation).filter(|_| text(annotation).len() <= LIST_BYTES) else {
        return Err(format!("the record is {annotation}"));
    };
    let (earlier, earlier_more) = split(earlier(repaired));
    let (record, more) = split(list);
    let new = record.iter().take(differences.len()).map(compared);
    let new: Vec<Value> = new
        .take_while(|entry| differences.contains(entry))
        .collect();
    let kept = &record[new.len()..];
    let missing = differences.len() + earlier.len() - record.len();
    let is_right = record.len() <= differences.len() + earlier.len()
        && (new.len() == differences.len() || kept.is_empty())
        && earlier.starts_with(kept)
        && more == earlier_more.saturating_add(missing as u64);
    hold(is_right, || {
        format!("the differences are {differences:?}, the record is {annotation}")
    })
}
