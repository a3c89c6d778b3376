//! The returned object: the text of the request's object, with edits of the changed fields.

use serde::Serialize;

use super::field_changes::VolumeValue;
use crate::document::text_edit::{TextEdit, apply_edits};
use crate::document::{Node, append, quoted, set_member};
use crate::outcome::{NewInitContainers, Outcome};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::{CHANGES_ANNOTATION, ExaminedObject, RestoredField, RestoredValue};
use crate::rules::missing_check::check_volumes::mount_path;

/// Writes the object with all changes, and with the record of changes if there is one. None if the
/// object or a text to edit isn't found, or if two edits overlap. No known input leads to None.
pub(super) fn with_changes(outcome: &Outcome<'_>, record: Option<&str>) -> Option<String> {
    let object = outcome.object;
    let mut edits = restored_fields(object)?;
    for changed in &outcome.changed_places {
        if let Some(image) = &changed.image {
            edits.push(set_image(changed.place, image)?);
        }
        if let Some((policy, _)) = changed.policy {
            edits.push(set_pull_policy(changed.place, policy)?);
        }
    }
    if !outcome.new_init_containers.checks.is_empty() {
        edits.push(add_init_containers(outcome)?);
    }
    if !outcome.new_volumes.is_empty() {
        edits.extend(add_volumes(outcome)?);
    }
    if let Some(record) = record {
        edits.push(annotate(&object.node, record)?);
    }
    apply_edits(object.node.text(), &edits)
}

/// Writes the object with the restored fields alone.
pub(super) fn with_restored_fields(object: &ExaminedObject<'_>) -> Option<String> {
    apply_edits(object.node.text(), &restored_fields(object)?)
}

fn restored_fields<'p>(object: &'p ExaminedObject<'_>) -> Option<Vec<TextEdit<'p>>> {
    let edit = |field: &'p RestoredField<'_>| match &field.value {
        RestoredValue::PullPolicy(policy) => set_pull_policy(&field.place, *policy),
        RestoredValue::Image(image) => set_image(&field.place, image),
    };
    object.restored.iter().map(edit).collect()
}

/// Replaces the value of a pull policy. If the field is missing, inserts it after the image.
fn set_pull_policy<'p>(place: &Place<'p>, policy: PullPolicy) -> Option<TextEdit<'p>> {
    let (source, key) = (place.image_source(), place.list.pull_policy_key());
    let policy = quoted(policy.as_str());
    if let Some(present) = source.member(key).ok()? {
        return Some(TextEdit::replace(present.text(), policy));
    }
    let image = source.get(place.list.image_key())?;
    Some(TextEdit::after(
        image.text(),
        format!(",\"{key}\":{policy}"),
    ))
}

fn set_image<'p>(place: &Place<'p>, image: &str) -> Option<TextEdit<'p>> {
    let present = place.image_source().get(place.list.image_key())?;
    Some(TextEdit::replace(present.text(), quoted(image)))
}

fn add_init_containers<'p>(outcome: &Outcome<'p>) -> Option<TextEdit<'p>> {
    let new = &outcome.new_init_containers;
    let pod = &outcome.object.pod;
    let texts = new_containers(new);
    if let Some(place) = new.position.after {
        return Some(TextEdit::after(place.node.text(), format!(",{texts}")));
    }
    match pod.list(PodSpecList::InitContainers).next() {
        Some(first) => Some(TextEdit::before(first.node.text(), format!("{texts},"))),
        None => append(&pod.spec, PodSpecList::InitContainers.name(), &texts),
    }
}

/// The texts of the init containers to add, with commas between them.
fn new_containers(new: &NewInitContainers<'_>) -> String {
    let mut texts = String::new();
    for check in &new.checks {
        if !texts.is_empty() {
            texts.push(',');
        }
        for (key, value) in [
            ("{\"name\":", &*check.name),
            (",\"image\":", &*check.image),
            (",\"imagePullPolicy\":", check.policy.as_str()),
        ] {
            texts.push_str(key);
            texts.push_str(&quoted(value));
        }
        texts.push_str(&new.fields);
        texts.push('}');
    }
    texts
}

/// An element of `volumeMounts`.
#[derive(Serialize)]
struct NewMount<'v> {
    name: &'v str,
    #[serde(rename = "mountPath")]
    path: String,
    #[serde(rename = "readOnly")]
    is_read_only: bool,
}

/// Adds the new check volumes, and mounts these volumes in the carriers.
fn add_volumes<'p>(outcome: &Outcome<'p>) -> Option<Vec<TextEdit<'p>>> {
    const KEY: &str = "volumeMounts";
    let mounts = join(outcome.new_volumes.iter().map(|volume| NewMount {
        name: &volume.name,
        path: mount_path(&volume.name),
        is_read_only: true,
    }));
    let new = join(outcome.new_volumes.iter().map(VolumeValue::from));
    let mut edits = vec![append(
        &outcome.object.pod.spec,
        PodSpecList::Volumes.name(),
        &new,
    )?];
    for place in &outcome.carriers {
        edits.push(if place.node.member(KEY).ok()?.is_some() {
            append(&place.node, KEY, &mounts)?
        } else {
            let name = place.node.get("name")?;
            TextEdit::after(name.text(), format!(",\"{KEY}\":[{mounts}]"))
        });
    }
    Some(edits)
}

fn join(items: impl Iterator<Item = impl Serialize>) -> String {
    let items: Vec<String> = items
        .filter_map(|item| serde_json::to_string(&item).ok())
        .collect();
    items.join(",")
}

/// Writes the annotation with the record. The annotations or the metadata may be missing or `null`.
fn annotate<'p>(object: &Node<'p>, record: &str) -> Option<TextEdit<'p>> {
    let record = quoted(record);
    let annotations = format!("{{{}:{record}}}", quoted(CHANGES_ANNOTATION));
    let Some(metadata) = object.get("metadata") else {
        return set_member(
            object,
            "metadata",
            &format!("{{\"annotations\":{annotations}}}"),
        );
    };
    match metadata.get("annotations") {
        Some(present) => set_member(&present, CHANGES_ANNOTATION, &record),
        None => set_member(&metadata, "annotations", &annotations),
    }
}
