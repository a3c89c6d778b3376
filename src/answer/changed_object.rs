//! The returned object: the text of the request's object, with edits of the changed fields.

use serde::Serialize;

use super::field_changes::VolumeValue;
use crate::examination::check_volume_mounts::mount_path;
use crate::json::{elements, from_value_of, quoted};
use crate::outcome::{NewInitContainers, Outcome};
use crate::pod::{ContainerOrVolume, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::{CHANGES_ANNOTATION, ExaminedObject, RestoredField, RestoredValue};
use crate::text_edit::{TextEdit, apply_edits};

/// Writes the object with all changes, and with the record of changes if there is one. None if the
/// object or a text to edit isn't found, or if two edits overlap. No known input leads to None.
pub(super) fn with_changes(outcome: &Outcome<'_>, record: Option<&str>) -> Option<String> {
    let review = outcome.review;
    let object = review.object()?;
    let mut edits = restored_fields(review)?;
    for changed in &outcome.changed_places {
        if let Some(image) = &changed.image {
            edits.push(set_image(changed.place, image)?);
        }
        if let Some((policy, _)) = changed.policy {
            edits.push(set_pull_policy(changed.place, policy)?);
        }
    }
    edits.extend(add_init_containers(outcome, object)?);
    edits.extend(add_volumes(outcome, object)?);
    if let Some(record) = record {
        edits.push(annotate(review, object, &quoted(record))?);
    }
    apply_edits(object, &edits)
}

/// Writes the object with the restored fields alone.
pub(super) fn with_restored_fields(review: &ExaminedObject<'_>) -> Option<String> {
    apply_edits(review.object()?, &restored_fields(review)?)
}

fn restored_fields<'p>(review: &'p ExaminedObject<'_>) -> Option<Vec<TextEdit<'p>>> {
    let edit = |field: &'p RestoredField<'_>| match &field.value {
        RestoredValue::PullPolicy(policy) => set_pull_policy(&field.place, *policy),
        RestoredValue::Image(image) => set_image(&field.place, image),
    };
    review.restored.iter().map(edit).collect()
}

/// Replaces the value of a pull policy. If the field is missing, inserts it after the image.
fn set_pull_policy<'p>(place: &ContainerOrVolume<'p>, policy: PullPolicy) -> Option<TextEdit<'p>> {
    let policy = quoted(policy.as_str());
    if let Some(text) = place.policy_text {
        return Some(TextEdit::replace(text, policy));
    }
    let key = match place.list {
        PodSpecList::Volumes => "pullPolicy",
        _ => "imagePullPolicy",
    };
    let image = place.image.as_ref()?;
    Some(TextEdit::after(image.raw, format!(",\"{key}\":{policy}")))
}

fn set_image<'p>(place: &ContainerOrVolume<'p>, image: &str) -> Option<TextEdit<'p>> {
    let text = place.image.as_ref()?.raw;
    Some(TextEdit::replace(text, quoted(image)))
}

fn add_init_containers<'p>(outcome: &Outcome<'p>, object: &'p str) -> Option<Vec<TextEdit<'p>>> {
    let new = &outcome.new_init_containers;
    if new.checks.is_empty() {
        return Some(Vec::new());
    }
    let review = outcome.review;
    let list = list_text(review, review.pod.init_containers_key);
    let present = list.map(elements).unwrap_or_default();
    let texts = new_containers(new);
    Some(vec![match (new.position.after, present.first()) {
        (Some(place), _) => TextEdit::after(present.get(place.index)?, format!(",{texts}")),
        (None, Some(first)) => TextEdit::before(first, format!("{texts},")),
        (None, None) => whole_list(review, object, "initContainers", list, &texts)?,
    }])
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
fn add_volumes<'p>(outcome: &Outcome<'p>, object: &'p str) -> Option<Vec<TextEdit<'p>>> {
    let mut edits = Vec::new();
    if outcome.new_volumes.is_empty() {
        return Some(edits);
    }
    let review = outcome.review;
    let mounts = join(outcome.new_volumes.iter().map(|volume| NewMount {
        name: &volume.name,
        path: mount_path(&volume.name),
        is_read_only: true,
    }));
    for place in &outcome.carriers {
        let present = place.mounts_text.map(elements).unwrap_or_default();
        edits.push(match (place.mounts_text, present.last()) {
            (_, Some(last)) => TextEdit::after(last, format!(",{mounts}")),
            (Some(empty), None) => TextEdit::replace(empty, format!("[{mounts}]")),
            (None, None) => {
                TextEdit::after(place.name.raw, format!(",\"volumeMounts\":[{mounts}]"))
            }
        });
    }
    let list = list_text(review, review.pod.volumes_key);
    let present = list.map(elements).unwrap_or_default();
    let new = join(outcome.new_volumes.iter().map(VolumeValue::from));
    edits.push(match present.last() {
        Some(volume) => TextEdit::after(volume, format!(",{new}")),
        None => whole_list(review, object, PodSpecList::Volumes.name(), list, &new)?,
    });
    Some(edits)
}

fn join(items: impl Iterator<Item = impl Serialize>) -> String {
    let items: Vec<String> = items
        .filter_map(|item| serde_json::to_string(&item).ok())
        .collect();
    items.join(",")
}

fn list_text<'p>(review: &ExaminedObject<'p>, key: Option<&'p str>) -> Option<&'p str> {
    review.value_of(key?)
}

/// Writes a list of the Pod spec that is empty, `null` or missing.
fn whole_list<'p>(
    review: &ExaminedObject<'p>,
    object: &'p str,
    key: &str,
    list: Option<&'p str>,
    items: &str,
) -> Option<TextEdit<'p>> {
    Some(match list {
        Some(list) => TextEdit::replace(list, format!("[{items}]")),
        None => first_member(
            from_value_of(object, review.spec_key?)?,
            &format!("\"{key}\":[{items}]"),
        )?,
    })
}

/// Inserts a member as the first member of a JSON object. `object` is a text that begins with the
/// opening brace of the JSON object.
fn first_member<'p>(object: &'p str, member: &str) -> Option<TextEdit<'p>> {
    let inner = object.strip_prefix('{')?;
    let comma = if inner.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    Some(TextEdit::before(inner, format!("{member}{comma}")))
}

/// Writes the annotation with the record. `value` is JSON.
fn annotate<'p>(review: &ExaminedObject<'p>, object: &'p str, value: &str) -> Option<TextEdit<'p>> {
    let metadata = &review.metadata;
    if let Some(present) = metadata.changes {
        return Some(TextEdit::replace(present, value.to_owned()));
    }
    let mut member = format!("{}:{value}", quoted(CHANGES_ANNOTATION));
    // The annotations or the metadata may be missing or `null`. The innermost of these objects that
    // exists gets the missing member.
    for (key, name) in [
        (metadata.annotations_key, "annotations"),
        (review.metadata_key, "metadata"),
    ] {
        let Some(present) = key.and_then(|key| from_value_of(object, key)) else {
            member = format!("\"{name}\":{{{member}}}");
            continue;
        };
        return match present.get(..4) {
            Some(null @ "null") => {
                let null = present.get(..null.len())?;
                Some(TextEdit::replace(null, format!("{{{member}}}")))
            }
            _ => first_member(present, &member),
        };
    }
    first_member(object, &member)
}
