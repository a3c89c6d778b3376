//! The changes of a Pod, as the record lists them, and the functions that make them in the object.

use serde::Serialize;
use serde_json::Value;

use crate::entry::{Entry, What};
use crate::pod::{Pod, Pull, mount};

/// A change. It is an entry of the audit annotation `changes` and of the record.
#[derive(Serialize)]
pub(super) struct Change<'p> {
    /// The path in the returned object.
    path: String,
    container: &'p str,
    /// The value that came in. None if the value was not set, or if an entry is added.
    from: Option<&'p str>,
    /// The value in the returned object. For an added entry: its name, image and pull policy.
    to: Value,
    /// The rule that changed the value.
    rule: &'static str,
}

/// Makes a change in the object.
pub(crate) type Edit = Box<dyn FnOnce(&mut Value)>;

/// All changes, in the order of the returned Pod.
pub(super) fn changes<'p>(pod: &'p Pod<'_>, entries: &[Entry<'_>]) -> Vec<Change<'p>> {
    let spec = pod.request.kind.spec_path();
    let mut changes = Vec::new();
    let mut checks = pod.added().iter();
    for entry in entries {
        let Some(pull) = pod.pulls.get(entry.pull) else {
            continue;
        };
        let list = pull.list;
        let (pull, key, from, to) = match &entry.what {
            What::Image(image) => {
                let from = Some(pull.written_image);
                (pull, list.image_key(), from, Value::from(&**image))
            }
            What::Policy(policy) => {
                let from = pull.written_policy.map(|policy| policy.as_str());
                (pull, list.policy_key(), from, policy.as_str().into())
            }
            What::Check(_) => match checks.next() {
                Some(check) => {
                    let to = check.list.entry(&check.name, check.image(), check.policy);
                    (check, "", None, to)
                }
                None => continue,
            },
            _ => continue,
        };
        let index = returned_index(pod, pull);
        let change = Change {
            path: match key {
                "" => pull.path(spec, index),
                key => pull.field_path(spec, index, key),
            },
            container: &pull.name,
            from,
            to,
            rule: entry.rule,
        };
        changes.push(((pull.list, index, key == pull.list.policy_key()), change));
    }
    changes.sort_by_key(|(position, _)| *position);
    changes.into_iter().map(|(_, change)| change).collect()
}

/// The index of a pull in its list of the returned object. Added checks move the entries behind
/// them.
fn returned_index(pod: &Pod<'_>, pull: &Pull<'_>) -> usize {
    let added = pod.added();
    let is_moved = |first: &Pull<'_>| first.list == pull.list && first.index <= pull.index;
    let moved_by = match added.first() {
        Some(first) if pull.added.is_none() && is_moved(first) => added.len(),
        _ => 0,
    };
    pull.index.saturating_add(moved_by)
}

/// The edits of the object. They touch only images, pull policies, this policy's annotations, and
/// added checks with their mounts. Only Pods are changed, so the Pod spec is at `spec`.
pub(super) fn edits(
    pod: &Pod<'_>,
    changes: Vec<Change<'_>>,
    annotations: Vec<(&'static str, String)>,
) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let added = pod.added();
    if let Some(first) = added.first() {
        let entries = added.iter().filter_map(|check| check.added.clone());
        let path = format!("spec.{}", first.list.name());
        edits.push(insert(path, first.index, entries.collect()));
        for (_, container) in pod.at(&first.start.mounted_by) {
            let path = [&container.path("spec", container.index), ".volumeMounts"].concat();
            let mounts = added.iter().map(|check| mount(&check.name));
            edits.push(insert(path, usize::MAX, mounts.collect()));
        }
    }
    // The paths are those of the returned object, so the checks are inserted first.
    for change in changes {
        if change.to.is_string() {
            edits.push(set(change.path, change.to));
        }
    }
    for (key, annotation) in annotations {
        edits.push(set(
            ["metadata.annotations.", key].concat(),
            annotation.into(),
        ));
    }
    edits
}

/// Sets the value at a path.
fn set(path: String, value: Value) -> Edit {
    Box::new(move |object| {
        if let Some(old) = value_at(object, &path) {
            *old = value;
        }
    })
}

/// Inserts these values into the list at a path, at this index, or at the end of a shorter list.
/// The list may be missing.
fn insert(path: String, index: usize, values: Vec<Value>) -> Edit {
    Box::new(move |object| match value_at(object, &path) {
        Some(Value::Array(list)) => {
            let index = index.min(list.len());
            list.splice(index..index, values);
        }
        Some(missing) => *missing = values.into(),
        None => {}
    })
}

/// The value at a path such as `spec.containers[0].image`. Missing objects on the path are made,
/// and a missing value is null. No key has a dot or a bracket.
fn value_at<'v>(object: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let mut steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.try_fold(object, |value, step| {
        if value.is_null() {
            *value = Value::Object(serde_json::Map::new());
        }
        match value {
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
            Value::Object(members) => Some(members.entry(step).or_insert(Value::Null)),
            _ => None,
        }
    })
}
