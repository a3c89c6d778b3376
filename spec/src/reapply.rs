//! **Re-apply**: "what the stored object's record says was changed from A to B, where the request
//! brings A and the stored object has B, becomes B again".
//!
//! **Decided**: only fields are restored. Checks that were added are not, because kubectl's merge keeps
//! them. An entry of the record without a container's name is matched by its path.

use serde_json::Value;

use crate::pod::List;
use crate::{RECORD, at};

/// Restores what the stored record says, in the Pod spec of an object. "It needs mode `Fix` and the
/// stored record, whatever `templates` and `recordChanges` say by now; it is silent."
pub(crate) fn recorded(root: &str, object: &mut Value, old: &Value) {
    let record = old
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(RECORD)?.as_str())
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(Value::Array(entries)) = record else {
        return;
    };
    let Some(stored) = at(old, root).cloned() else {
        return;
    };
    let Some(spec) = crate::at_mut(object, root) else {
        return;
    };
    for list in List::ALL {
        let Some(Value::Array(containers)) = spec.get_mut(list.key()) else {
            continue;
        };
        for (index, container) in containers.iter_mut().enumerate() {
            for field in [
                "imagePullPolicy",
                "image",
                "image.pullPolicy",
                "image.reference",
            ] {
                let path = format!("{root}.{}[{index}].{field}", list.key());
                restore(&entries, &path, list, field, container, &stored);
            }
        }
    }
}

fn restore(
    entries: &[Value],
    path: &str,
    list: List,
    field: &str,
    container: &mut Value,
    stored: &Value,
) {
    let name = container.get("name").cloned().unwrap_or_default();
    let same_name = |other: &&Value| other.get("name").cloned().unwrap_or_default() == name;
    let Some(stored) = stored
        .get(list.key())
        .and_then(|list| list.as_array()?.iter().find(same_name))
    else {
        return;
    };
    let pointer = format!("/{}", field.replace('.', "/"));
    let stored = stored.pointer(&pointer).cloned().unwrap_or_default();
    let brought = container.pointer(&pointer).cloned().unwrap_or_default();
    // "any matching entry will do"
    let is_recorded = entries.iter().any(|entry| {
        let text = entry
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default();
        // "they are matched by list and name, as an injected container may have moved the index"
        let is_there = match entry.get("container") {
            Some(container) => *container == name && same_field(text, path),
            None => text == path,
        };
        is_there
            && set(entry.get("from")) == set(Some(&brought))
            && entry.get("to") == Some(&stored)
    });
    // "Only values that are stored already can come back"
    if is_recorded && stored.is_string() && brought != stored {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", &pointer));
        if let Some(Value::Object(fields)) = container.pointer_mut(parent) {
            fields.insert(key.to_owned(), stored);
        }
    }
}

// "`""` and `null` count as not set" (facts)
fn set(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null() && **value != "")
}

fn same_field(a: &str, b: &str) -> bool {
    let without_index = |path: &str| -> Option<(String, String)> {
        let (list, rest) = path.split_once('[')?;
        let (_, field) = rest.split_once(']')?;
        Some((list.to_owned(), field.to_owned()))
    };
    without_index(a).is_some() && without_index(a) == without_index(b)
}
