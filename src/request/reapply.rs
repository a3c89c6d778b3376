//! *Re-apply*: the manifest of a repaired object is applied once more.
//!
//! It brings the policies that its author wrote, which the policy has changed since; they are
//! immutable in a Pod and in a Job, so that the API server would answer 422. The record on the
//! stored object says what was changed from what to what. Where the request brings the first and
//! the stored object has the second, the second is put back, and the request changes nothing.
//! Only values that are stored already can come back, so a forged record gains nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Metadata;
use crate::edit::Edit;
use crate::pod::{Place, Pod, Slot};
use crate::pull_policy::PullPolicy;

/// What a path of the record names: `….list[index].field`.
struct Field<'c> {
    slot: Slot,
    index: usize,
    name: &'c str,
}

impl<'c> Field<'c> {
    fn of(path: &'c str) -> Option<Self> {
        let (list, rest) = path.split_once('[')?;
        let (index, name) = rest.split_once("].")?;
        let list = list.rsplit('.').next()?;
        Some(Self {
            slot: Slot::ALL.into_iter().find(|slot| slot.list() == list)?,
            index: index.parse().ok()?,
            name,
        })
    }
}

/// Puts back what is stored, in the Pod as the rules will see it, and says what to edit.
pub(super) fn restore<'a>(
    pod: &mut Pod<'a>,
    metadata: &Metadata<'_>,
    stored: &Pod<'_>,
) -> Vec<Edit<'a>> {
    // What is no record of changes restores nothing, and neither does an element that is none.
    let record = metadata
        .record()
        .and_then(|record| serde_json::from_str::<Vec<Value>>(&record).ok())
        .unwrap_or_default();
    if record.is_empty() {
        return Vec::new();
    }
    let mut indexes = BTreeMap::new();
    for (index, place) in pod.places.iter().enumerate() {
        indexes.insert((place.slot, place.name.value.to_string()), index);
    }
    let mut by_name = BTreeMap::new();
    for place in &stored.places {
        by_name.insert((place.slot, &*place.name.value), place);
    }
    let mut edits = Vec::new();
    for change in record {
        let text = |key: &str| change.get(key).and_then(Value::as_str);
        let (Some(field), Some(to)) = (text("path").and_then(Field::of), text("to")) else {
            continue;
        };
        // By list and name, as a container that another webhook added may have moved the index.
        // Records of version 0.1 have no names.
        let stored = match text("container") {
            Some(name) => by_name.get(&(field.slot, name)).copied(),
            None => stored.place(field.slot, field.index),
        };
        if let Some(stored) = stored
            && let Some(index) = indexes.get(&(field.slot, stored.name.value.to_string()))
            && let Some(now) = pod.places.get_mut(*index)
        {
            edits.extend(restore_field(now, stored, text("from"), to, field.name));
        }
    }
    edits
}

fn restore_field<'a>(
    now: &mut Place<'a>,
    stored: &Place<'_>,
    from: Option<&str>,
    to: &str,
    field: &str,
) -> Option<Edit<'a>> {
    if field == now.slot.policy_field() {
        let to = PullPolicy::parse(to)?;
        let brings = now.policy.map(PullPolicy::as_str) == from;
        if !brings || stored.policy != Some(to) || now.policy == Some(to) {
            return None;
        }
        now.policy = Some(to);
        now.policy_edit(to)
    } else if field == now.slot.image_field() {
        let brings = Some(now.image_text()) == from;
        if !brings || stored.image_text() != to || now.image_text() == to {
            return None;
        }
        let edit = now.image_edit(to)?;
        if let Some(image) = &mut now.image {
            image.value = to.to_owned().into();
        }
        Some(edit)
    } else {
        None
    }
}
