//! Repairs are minimal: a repair changes only the fields that docs/rules.md names. Every other field keeps
//! its value, even if no Kubernetes library knows the field. The entries of a list keep their order.

use serde_json::{Map, Value, json};

use crate::RECORD;
use crate::events::{elements, named};
use crate::settings::Settings;

/// Returns the first change that a repair must not make, or `None` if all changes are allowed.
pub(super) fn problem(before: &Value, after: &Value, settings: Settings<'_>) -> Option<String> {
    if before == after {
        return None;
    }
    let (mut before, mut after) = (before.clone(), after.clone());
    without_record(&mut before);
    without_record(&mut after);
    let root = [
        "/spec/jobTemplate/spec/template/spec",
        "/spec/template/spec",
        "/template/spec",
    ]
    .into_iter()
    .find(|root| before.pointer(root).is_some())
    .unwrap_or("/spec");
    let spec_before = before.pointer_mut(root)?.take();
    let Some(spec_after) = after.pointer_mut(root).map(Value::take) else {
        return Some("the Pod spec is gone".to_owned());
    };
    if before != after {
        return Some("something outside of the Pod spec changed".to_owned());
    }
    of_spec(&spec_before, &spec_after, settings)
}

/// Removes the record from an object. Then removes `annotations` if it is not an object or is empty, and
/// `metadata` if it is null or empty.
fn without_record(object: &mut Value) {
    let metadata = object.get_mut("metadata");
    if metadata.as_ref().is_some_and(|metadata| metadata.is_null()) {
        object
            .as_object_mut()
            .map(|object| object.remove("metadata"));
        return;
    }
    let Some(metadata) = metadata.and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(RECORD);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    } else {
        metadata.remove("annotations");
    }
    if metadata.is_empty() {
        object
            .as_object_mut()
            .map(|object| object.remove("metadata"));
    }
}

const LISTS: [&str; 4] = [
    "containers",
    "initContainers",
    "ephemeralContainers",
    "volumes",
];

fn of_spec(before: &Value, after: &Value, settings: Settings<'_>) -> Option<String> {
    let rest = |spec: &Value| -> Map<String, Value> {
        let members = spec.as_object().cloned().unwrap_or_default();
        members
            .into_iter()
            .filter(|(key, _)| !LISTS.contains(&key.as_str()))
            .collect()
    };
    if rest(before) != rest(after) {
        return Some("a field of the Pod spec changed".to_owned());
    }
    let is_check = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        settings
            .name_prefixes()
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    for list in LISTS {
        let (old, new) = (elements(before, list), elements(after, list));
        let may_add = ["initContainers", "volumes"].contains(&list);
        let is_added = |one: &&Value| named(old, &one["name"]).is_none();
        let (added, kept): (Vec<&Value>, Vec<&Value>) = new.iter().partition(is_added);
        if let Some(one) = added.iter().find(|one| !may_add || !is_check(one)) {
            return Some(format!("{list}: {} was added", one["name"]));
        }
        if old.len() != kept.len() {
            return Some(format!("{list}: the number of elements changed"));
        }
        for (old, new) in old.iter().zip(kept) {
            if let Some(problem) = of_entry(old, new) {
                return Some(format!("{list}: {}: {problem}", new["name"]));
            }
        }
    }
    None
}

/// Returns the first change in a kept entry that a repair must not make. A repair may add a digest
/// to the image, change the pull policy, and append mounts of check volumes.
fn of_entry(before: &Value, after: &Value) -> Option<String> {
    let (mut old, mut new) = (before.clone(), after.clone());
    let old_mounts = elements(before, "volumeMounts");
    let new_mounts = elements(after, "volumeMounts");
    let Some(added) = new_mounts.get(old_mounts.len()..) else {
        return Some("a mount is gone".to_owned());
    };
    for mount in added {
        let name = mount["name"].as_str().unwrap_or_default();
        let expected = json!({
            "name": name, "mountPath": format!("/.imagecheck/{name}"), "readOnly": true,
        });
        if *mount != expected {
            return Some(format!("a mount was added that is no check's: {mount}"));
        }
    }
    if new_mounts.get(..old_mounts.len()) != Some(old_mounts) {
        return Some("a mount changed".to_owned());
    }
    for one in [&mut old, &mut new] {
        let Some(members) = one.as_object_mut() else {
            continue;
        };
        members.remove("volumeMounts");
        members.remove("imagePullPolicy");
        unpin(members, "image");
        if let Some(source) = members.get_mut("image").and_then(Value::as_object_mut) {
            source.remove("pullPolicy");
            unpin(source, "reference");
        }
    }
    (old != new).then(|| format!("a field changed: {old} became {new}"))
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
