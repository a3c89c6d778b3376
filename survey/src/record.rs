//! The record: the annotation in which a repaired Pod lists what this policy changed.

use serde_json::Value;

use crate::json::{at, list, object_mut, text};

const RECORD: &str = "consistent-pull-policy/changes";

/// The Pod without the changes that its record lists, and without this policy's annotations. `None`
/// if it has no record.
pub(crate) fn without_repairs(pod: &Value) -> Option<Value> {
    let record = at(pod, &["metadata", "annotations", RECORD])?;
    let changes: Value = serde_json::from_str(record.as_str()?).unwrap_or_default();
    let mut pod = pod.clone();
    for change in list(&changes, &[]).iter().rev() {
        if let Some(spec) = pod.get_mut("spec") {
            undo(spec, change);
        }
    }
    if let Some(annotations) = object_mut(&mut pod, &["metadata", "annotations"]) {
        annotations.retain(|key, _| !key.starts_with("consistent-pull-policy/"));
    }
    Some(pod)
}

/// Undoes a change. Other webhooks may have moved the entry, so its name finds it. A value that
/// somebody has changed since then stays.
fn undo(spec: &mut Value, change: &Value) -> Option<()> {
    let name = text(change, &["container"]);
    let path = text(change, &["path"]).strip_prefix("spec.")?;
    let (key, rest) = path.split_once('[')?;
    let (_, field) = rest.split_once(']')?;
    let entries = spec.get_mut(key)?.as_array_mut()?;
    if field.is_empty() {
        entries.retain(|entry| text(entry, &["name"]) != name);
        if key == "volumes" {
            remove_mounts(spec, name);
        }
        return Some(());
    }
    let entry = entries
        .iter_mut()
        .find(|entry| text(entry, &["name"]) == name)?;
    let mut holder = entry;
    let field = field.strip_prefix('.')?;
    let field = match field.strip_prefix("image.") {
        Some(field) => {
            holder = holder.get_mut("image")?;
            field
        }
        None => field,
    };
    let holder = holder.as_object_mut()?;
    if holder.get(field) == change.get("to") {
        match change.get("from") {
            None | Some(Value::Null) => holder.remove(field),
            Some(from) => holder.insert(field.to_owned(), from.clone()),
        };
    }
    Some(())
}

fn remove_mounts(spec: &mut Value, volume: &str) {
    for key in ["initContainers", "containers"] {
        let containers = spec.get_mut(key).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mounts = container
                .get_mut("volumeMounts")
                .and_then(Value::as_array_mut);
            if let Some(mounts) = mounts {
                mounts.retain(|mount| text(mount, &["name"]) != volume);
            }
        }
    }
}
