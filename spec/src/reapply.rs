//! **Re-apply**: the stored object's record may list a change from A to B. If the request has A and
//! the stored object has B, the field of the request is set to B again. An image comes back only if B is A
//! with a digest added, because anybody can write a record.
//!
//! **Decided**: only fields are restored. Added checks are not restored, because kubectl's merge keeps
//! them. If an entry of the record names no container, the entry applies only to one field: the field
//! whose path, index included, is the `path` of the entry.

use serde_json::Value;

use crate::image::Reference;
use crate::json::{elements, elements_mut, text};
use crate::pod::List;
use crate::{at, record};

/// Writes the recorded values of the stored object into the Pod spec of an object. The caller
/// checks that the mode is `Fix`. Re-apply doesn't depend on the settings `templates` and
/// `recordChanges`, and adds no finding and no message.
pub(crate) fn recorded(root: &str, object: &mut Value, old: &Value) {
    let Some(entries) = record::entries(old) else {
        return;
    };
    let Some(stored) = at(old, root).cloned() else {
        return;
    };
    let Some(spec) = crate::at_mut(object, root) else {
        return;
    };
    for list in List::ALL {
        for container in elements_mut(spec, list.key()) {
            for field in [
                "imagePullPolicy",
                "image",
                "image.pullPolicy",
                "image.reference",
            ] {
                restore(&entries, root, list, field, container, &stored);
            }
        }
    }
}

fn restore(
    entries: &[Value],
    root: &str,
    list: List,
    field: &str,
    container: &mut Value,
    stored: &Value,
) {
    let name = container["name"].clone();
    let containers = elements(stored, list.key());
    let Some(index) = containers.iter().position(|other| other["name"] == name) else {
        return;
    };
    let stored = &containers[index];
    // The record describes the stored object. So the index of an entry is an index in that object.
    let path = format!("{root}.{}[{index}].{field}", list.key());
    let pointer = format!("/{}", field.replace('.', "/"));
    let stored = stored.pointer(&pointer).cloned().unwrap_or_default();
    let brought = container.pointer(&pointer).cloned().unwrap_or_default();
    // The field is restored if at least one entry of the record matches it.
    let is_recorded = entries.iter().any(|entry| {
        let path_of_entry = text(&entry["path"]);
        // For an entry that names a container, three things must match: the list, the field and the
        // container's name. The index in the path may differ, because an injected container may
        // have moved the other containers.
        let is_there = match entry.get("container") {
            Some(container) => *container == name && same_field(path_of_entry, &path),
            None => path_of_entry == path,
        };
        is_there && set(&entry["from"]) == set(&brought) && entry["to"] == stored
    });
    let is_image = !field.ends_with("ullPolicy");
    let may_come_back = !is_image || is_pinned_as(text(&brought), &stored);
    // Re-apply never writes a value that the stored object doesn't have.
    if is_recorded && may_come_back && stored.is_string() && brought != stored {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", &pointer));
        if let Some(Value::Object(fields)) = container.pointer_mut(parent) {
            fields.insert(key.to_owned(), stored);
        }
    }
}

/// Whether the stored image is the requested one with a digest added.
///
/// **Decided**: a missing tag counts as `latest`, beside a digest too.
fn is_pinned_as(brought: &str, stored: &Value) -> bool {
    let (Some(brought), Some(stored)) = (Reference::parse(brought), Reference::parse(text(stored)))
    else {
        return false;
    };
    let stored_tag = stored.tag.as_deref().unwrap_or("latest");
    brought.digest.is_none()
        && stored.digest.is_some()
        && brought.spelling == stored.spelling
        && brought.tag.as_deref() == Some(stored_tag)
}

// Returns `None` for a value that counts as not set: `""` and `null`.
fn set(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null() && **value != "")
}

fn same_field(a: &str, b: &str) -> bool {
    let without_index = |path: &str| -> Option<(String, String)> {
        let (list, rest) = path.split_once('[')?;
        let (_, field) = rest.split_once(']')?;
        Some((list.to_owned(), field.to_owned()))
    };
    without_index(a).is_some() && without_index(a) == without_index(b)
}
