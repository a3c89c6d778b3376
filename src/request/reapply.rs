//! *Re-apply*: somebody applies the manifest of a repaired object again.
//!
//! The manifest has the pull policies that its author wrote. This policy has changed them since,
//! and they are immutable in a Pod and in a Job, so the API server would answer 422. The record on
//! the stored object says that a field was changed from A to B. If the request has A and the stored
//! object has B, B is written into the request. Then the request changes nothing. Only values that
//! are stored already can come back, so a forged record gains nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::object_reader::Metadata;
use crate::pod::field_path::RecordedField;
use crate::pod::{ContainerOrVolume, Pod};
use crate::pull_policy::PullPolicy;

/// A field of the request that gets its stored value back.
#[derive(Clone, Debug)]
pub struct RestoredField<'a> {
    /// The container or image volume, with the stored value.
    pub place: ContainerOrVolume<'a>,
    /// The stored value.
    pub value: RestoredValue,
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredValue {
    /// A pull policy.
    PullPolicy(PullPolicy),
    /// An image.
    Image(String),
}

/// Puts stored values back into the Pod that the rules will see. Returns the changed fields.
pub(super) fn restore<'a>(
    pod: &mut Pod<'a>,
    metadata: &Metadata<'_>,
    stored: &Pod<'_>,
) -> Vec<RestoredField<'a>> {
    // An annotation that is no record restores nothing. An entry that this policy wouldn't write
    // restores nothing either.
    let record = metadata
        .record()
        .and_then(|record| serde_json::from_str::<Vec<Value>>(&record).ok())
        .unwrap_or_default();
    if record.is_empty() {
        return Vec::new();
    }
    let mut indexes = BTreeMap::new();
    for (index, place) in pod.places.iter().enumerate() {
        indexes.insert((place.list, place.name.value.to_string()), index);
    }
    let mut stored_by_name = BTreeMap::new();
    for place in &stored.places {
        stored_by_name.insert((place.list, &*place.name.value), place);
    }
    let mut restored = Vec::new();
    for change in record {
        let text = |key: &str| change.get(key).and_then(Value::as_str);
        let (Some(recorded), Some(to)) = (text("path").and_then(RecordedField::parse), text("to"))
        else {
            continue;
        };
        // List and name find the container: another webhook may have inserted containers and so
        // moved the index. The index finds the container of an entry without a name.
        let stored = match text("container") {
            Some(name) => stored_by_name.get(&(recorded.list, name)).copied(),
            None => stored.place(recorded.list, recorded.index),
        };
        if let Some(stored) = stored
            && let Some(index) = indexes.get(&(recorded.list, stored.name.value.to_string()))
            && let Some(now) = pod.places.get_mut(*index)
        {
            restored.extend(restore_field(now, stored, text("from"), to, recorded.field));
        }
    }
    restored
}

fn restore_field<'a>(
    now: &mut ContainerOrVolume<'a>,
    stored: &ContainerOrVolume<'_>,
    from: Option<&str>,
    to: &str,
    field: &str,
) -> Option<RestoredField<'a>> {
    let value = if field == now.list.pull_policy_field() {
        let to = PullPolicy::parse(to)?;
        let brings_from = now.policy.map(PullPolicy::as_str) == from;
        if !brings_from || stored.policy != Some(to) || now.policy == Some(to) {
            return None;
        }
        // The field would be written after the image, and there is no image.
        if now.policy_text.is_none() && now.image.is_none() {
            now.policy = Some(to);
            return None;
        }
        now.policy = Some(to);
        RestoredValue::PullPolicy(to)
    } else if field == now.list.image_field() {
        let brings_from = Some(now.image_text()) == from;
        if !brings_from || stored.image_text() != to || now.image_text() == to {
            return None;
        }
        now.image.as_mut()?.value = to.to_owned().into();
        RestoredValue::Image(to.to_owned())
    } else {
        return None;
    };
    Some(RestoredField {
        place: now.clone(),
        value,
    })
}
