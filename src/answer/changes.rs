//! The changes of a Pod, as the record lists them, and the functions that make them in the object.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::pod::{Entry, List, Pod, Pull, What, mount};

/// A change. It is an entry of the audit annotation `changes` and of the record.
#[derive(Serialize)]
pub struct Change<'p> {
    /// The path in the returned object.
    path: String,
    container: &'p str,
    /// The value that came in. None if the value was not set, or if an entry is added.
    from: Option<&'p str>,
    /// The value in the returned object. For an added entry: its name, image and pull policy.
    to: Value,
    /// The rule that changed the value.
    rule: &'static str,
    /// The sort key: list, index, and image before pull policy.
    #[serde(skip)]
    position: (List, usize, bool),
}

/// An edit of the object: the path of a value, and the new value. With an index, the value is a
/// list, and its elements are inserted there into the list at the path.
pub type Edit = (String, Option<usize>, Value);

/// All changes, in the order of the returned Pod. None if it is the one that came in.
pub fn changes<'p>(pod: &'p Pod) -> Vec<Change<'p>> {
    let made = pod.entries.iter().filter(|_| pod.is_repaired);
    let changes = made.filter_map(|entry| change(pod, entry));
    let mut changes: Vec<Change<'p>> = changes.collect();
    changes.sort_by_key(|change| change.position);
    changes
}

/// The change of an entry. None if it is a report.
fn change<'p>(pod: &'p Pod, entry: &Entry) -> Option<Change<'p>> {
    let position = match entry.what {
        What::Check(position) => position,
        _ => entry.pull,
    };
    let pull = pod.pulls.get(position)?;
    let (spec, index) = (pod.request.kind.spec_path(), returned_index(pod, pull));
    let (path, from, to) = match entry.what {
        What::Image | What::Policy => {
            let (key, from, to) = entry.field(pull);
            (pull.field_path(spec, index, key), from, to.into())
        }
        What::Check(_) => (pull.path(spec, index, ""), None, pull.summary()),
        _ => return None,
    };
    Some(Change {
        position: (pull.list, index, entry.what == What::Policy),
        path,
        container: &pull.name,
        from,
        to,
        rule: entry.rule,
    })
}

/// The index of a pull in its list of the returned object. Added checks move the entries behind
/// them.
fn returned_index(pod: &Pod, pull: &Pull) -> usize {
    let added = pod.added();
    let is_moved = |first: &Pull| first.list == pull.list && first.index <= pull.index;
    let moved_by = match added.first() {
        Some(first) if pull.added.is_none() && is_moved(first) => added.len(),
        _ => 0,
    };
    pull.index.saturating_add(moved_by)
}

/// The edits of the object that these changes and annotations make. Those that insert checks come
/// first, because the paths of the others are those of the returned object.
pub fn edits(pod: &Pod, changes: Vec<Change>, annotations: Vec<Edit>) -> Vec<Edit> {
    let mut edits = insertions(pod);
    let changes = changes.into_iter().filter(|change| change.to.is_string());
    edits.extend(changes.map(|change| (change.path, None, change.to)));
    edits.extend(annotations);
    edits
}

/// The edits that insert the added checks, with their mounts. Only Pods are changed, so the Pod spec
/// is at `spec`.
fn insertions(pod: &Pod) -> Vec<Edit> {
    let added = pod.added();
    let Some(first) = added.first() else {
        return Vec::new();
    };
    let containers = pod.at(&first.mounted_by);
    let mut edits: Vec<Edit> = containers
        .map(|container| {
            let path = container.path("spec", container.index, ".volumeMounts");
            let mounts = added.iter().map(|check| mount(&check.name));
            (path, Some(usize::MAX), mounts.collect())
        })
        .collect();
    let path = ["spec.", first.list.name()].concat();
    let entries = added.iter().map(Pull::entry).collect();
    edits.push((path, Some(first.index), entries));
    edits
}

/// Makes an edit. The list into which elements are inserted may be missing, or shorter than the
/// index.
pub fn apply(object: &mut Value, (path, index, value): Edit) {
    match (value_at(object, &path), index, value) {
        (Some(Value::Array(list)), Some(index), Value::Array(values)) => {
            let index = index.min(list.len());
            list.splice(index..index, values);
        }
        (Some(old), _, value) => *old = value,
        (None, ..) => {}
    }
}

/// The value at a path such as `spec.containers[0].image`. Missing objects on the path are made,
/// and a missing value is null. No key has a dot or a bracket.
fn value_at<'v>(object: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let mut steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.try_fold(object, |value, step| {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        match value {
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
            Value::Object(members) => Some(members.entry(step).or_insert(Value::Null)),
            _ => None,
        }
    })
}
