//! Repairs are minimal: a repair changes only the fields that docs/rules.md names. Every other
//! field keeps its value, even if no Kubernetes library knows the field. The entries of a list keep
//! their order.

use serde_json::{Map, Value, json};

use super::{Kept, RECORD, Repaired, WARNINGS, hold};
use crate::json::{LISTS, elements, named, text};
use crate::settings::Settings;

/// Only the fields that a repair may change differ between the Pod that came in and the Pod that
/// was returned.
pub(super) fn only_repairs_change(repaired: &Repaired) -> Kept {
    let [mut before, mut after] = [repaired.before, repaired.after].map(without_record);
    let [mut old, mut new] = [&mut before, &mut after].map(|pod| pod["spec"].take());
    for list in LISTS {
        let [old, new] = [&mut old, &mut new].map(|spec| taken(spec, list));
        let problem = of_list(&old, &new, list, repaired.settings());
        hold(problem.is_none(), || {
            format!("{list}: {}", problem.unwrap_or_default())
        })?;
    }
    hold(before == after && old == new, || {
        "a field outside of the lists changed".to_owned()
    })
}

/// Returns an object without its record and its warnings. `annotations` and `metadata` are left out
/// if nothing else is in them, because writing a record may have created them.
fn without_record(object: &Value) -> Value {
    let mut object = object.clone();
    for (pointer, key) in [
        ("/metadata/annotations", RECORD),
        ("/metadata/annotations", WARNINGS),
        ("/metadata", "annotations"),
        ("", "metadata"),
    ] {
        let members = object.pointer_mut(pointer).and_then(Value::as_object_mut);
        if let Some(members) = members {
            let is_empty =
                |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            if [RECORD, WARNINGS].contains(&key) || members.get(key).is_some_and(is_empty) {
                members.remove(key);
            }
        }
    }
    object
}

fn taken(spec: &mut Value, list: &str) -> Vec<Value> {
    let list = spec.as_object_mut().and_then(|spec| spec.remove(list));
    match list {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    }
}

fn of_list(old: &[Value], new: &[Value], list: &str, settings: Settings<'_>) -> Option<String> {
    let is_check = |one: &Value| {
        let mut prefixes = settings.name_prefixes().into_iter();
        prefixes.any(|prefix| text(&one["name"]).starts_with(prefix))
    };
    let may_add = ["initContainers", "volumes"].contains(&list);
    let is_added = |one: &&Value| named(old, &one["name"]).is_none();
    let (added, kept): (Vec<&Value>, Vec<&Value>) = new.iter().partition(is_added);
    if let Some(one) = added.iter().find(|one| !may_add || !is_check(one)) {
        return Some(format!("{} was added", one["name"]));
    }
    if old.len() != kept.len() {
        return Some("the number of elements changed".to_owned());
    }
    let mut pairs = old.iter().zip(kept);
    pairs.find_map(|(old, new)| of_entry(old, new))
}

/// Returns the first change in a kept entry that a repair must not make. A repair may add a digest
/// to the image, change the pull policy, and append mounts of check volumes.
fn of_entry(old: &Value, new: &Value) -> Option<String> {
    let mounts = elements(old, "volumeMounts");
    let added = elements(new, "volumeMounts").strip_prefix(mounts);
    let is_of_check = |mount: &Value| {
        let name = text(&mount["name"]);
        let path = format!("/.imagecheck/{name}");
        *mount == json!({"name": name, "mountPath": path, "readOnly": true})
    };
    if !added.is_some_and(|added| added.iter().all(is_of_check)) {
        return Some(format!("{}: the mounts changed", new["name"]));
    }
    (without_repairs(old) != without_repairs(new))
        .then(|| format!("a field changed: {old} became {new}"))
}

/// Returns an entry without the fields that a repair may change.
fn without_repairs(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(members) = entry.as_object_mut() {
        members.remove("volumeMounts");
        members.remove("imagePullPolicy");
        unpin(members, "image");
        if let Some(source) = members.get_mut("image").and_then(Value::as_object_mut) {
            source.remove("pullPolicy");
            unpin(source, "reference");
        }
    }
    entry
}

/// Removes the digest and the tag `latest` from an image, because a pin may have added them.
fn unpin(members: &mut Map<String, Value>, key: &str) {
    let Some(image) = members.get(key).and_then(Value::as_str) else {
        return;
    };
    let tag = image.split_once('@').map_or(image, |(tag, _)| tag);
    let tag = tag.strip_suffix(":latest").unwrap_or(tag).to_owned();
    members.insert(key.to_owned(), tag.into());
}
