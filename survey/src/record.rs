//! The record: the annotation in which a repaired Pod lists what this policy changed.

use serde_json::Value;

use crate::json::text;

/// The Pod without the changes that its record lists, and without this policy's annotations. `None`
/// if it has no record.
pub(crate) fn without_repairs(pod: &Value) -> Option<Value> {
    let record = pod.pointer("/metadata/annotations/consistent-pull-policy~1changes")?;
    let changes: Vec<Value> = serde_json::from_str(record.as_str()?).unwrap_or_default();
    let mut pod = pod.clone();
    let spec = pod.get_mut("spec")?;
    for change in changes.iter().rev() {
        undo(spec, change);
    }
    let annotations = pod.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|key, _| !key.starts_with("consistent-pull-policy/"));
    }
    Some(pod)
}

/// Undoes a change. Other webhooks may have moved the entry, so its name finds it. A value that
/// somebody has changed since then stays.
fn undo(spec: &mut Value, change: &Value) -> Option<()> {
    let name = text(change, "/container");
    let is_named = |entry: &Value| text(entry, "/name") == name;
    let path = text(change, "/path").strip_prefix("spec.")?;
    let (key, rest) = path.split_once('[')?;
    let (_, field) = rest.split_once(']')?;
    let entries = spec.get_mut(key)?.as_array_mut()?;
    if field.is_empty() {
        entries.retain(|entry| !is_named(entry));
        // An added volume has a name that no container has.
        for key in ["initContainers", "containers"] {
            let containers = spec.get_mut(key).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                let mounts = container.get_mut("volumeMounts");
                if let Some(mounts) = mounts.and_then(Value::as_array_mut) {
                    mounts.retain(|mount| !is_named(mount));
                }
            }
        }
        return Some(());
    }
    let field = field.replace('.', "/");
    let (holder, field) = field.rsplit_once('/')?;
    let entry = entries.iter_mut().find(|entry| is_named(entry))?;
    let holder = entry.pointer_mut(holder)?.as_object_mut()?;
    if holder.get(field) == change.get("to") {
        match change.get("from").filter(|from| !from.is_null()) {
            None => holder.remove(field),
            Some(from) => holder.insert(field.to_owned(), from.clone()),
        };
    }
    Some(())
}
