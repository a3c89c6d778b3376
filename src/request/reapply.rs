//! *Re-apply*: somebody applies the manifest of a repaired object again.
//!
//! The manifest has the pull policies that its author wrote. The stored Pod or Job has the pull
//! policies that this policy wrote. A stored pull policy is immutable, so the API server would
//! refuse the request with status 422. The record on the stored object says that a field was changed
//! from A to B. If the request has A and the stored object has B, B is written into the request. Then
//! the field stays as it is stored. Anybody can write a record. So an image comes back only if its digest is all that
//! the request lacks, and a forged record can do no more than keep a pull policy that is stored.

use std::collections::BTreeMap;

use crate::document::JsonNode;
use crate::image::Reference;
use crate::pod_spec::{Place, PodSpec, PodSpecList};
use crate::pull_policy::PullPolicy;

/// A field of the request that gets its stored value back.
pub(crate) enum RestoredField<'a> {
    /// The pull policy of this place.
    PullPolicy(Place<'a>, PullPolicy),
    /// The image of this place.
    Image(Place<'a>, String),
}

/// Puts stored values back into the Pod that the rules will see. `record` is the record of the stored
/// object. Returns the fields to write into the object.
pub(super) fn restore<'a>(
    pod: &mut PodSpec<'a>,
    record: &str,
    stored: &PodSpec<'_>,
) -> Vec<RestoredField<'a>> {
    // An annotation that is not a JSON list restores nothing. An entry that is not in the form of
    // this policy restores nothing either.
    let record = JsonNode::read(record).map(|record| record.elements());
    let stored_by_name = stored.places_by_list_and_name();
    let mut indexes = BTreeMap::new();
    for (index, place) in pod.places.iter().enumerate() {
        indexes.insert((place.list, place.name.to_string()), index);
    }
    let mut restored = Vec::new();
    for change in record.unwrap_or_default() {
        let text = |key: &str| change.string(key).unwrap_or_default();
        let (Some(path), Some(to)) = (text("path"), text("to")) else {
            continue;
        };
        let Some((list, index, field)) = parse_path(&path) else {
            continue;
        };
        // A container is found by its list and name. Its index may have changed, because another
        // webhook may have inserted containers. If the entry has no name, the index is used.
        let stored = match text("container") {
            Some(name) => stored_by_name.get(&(list, &*name)).copied(),
            None => stored.place(list, index),
        };
        if let Some(stored) = stored
            && let Some(index) = indexes.get(&(list, stored.name.to_string()))
            && let Some(now) = pod.places.get_mut(*index)
        {
            let from = text("from");
            restored.extend(restore_field(now, stored, from.as_deref(), &to, field));
        }
    }
    restored
}

/// Reads the path of a field in a record: list, index and field. The keys before the list are ignored. None
/// for the path of a whole element, which has no field.
fn parse_path(path: &str) -> Option<(PodSpecList, usize, &str)> {
    let (list, rest) = path.split_once('[')?;
    let (index, field) = rest.split_once("].")?;
    let list = list.rsplit('.').next()?;
    let mut lists = PodSpecList::ALL.into_iter();
    let list = lists.find(|known| known.name() == list)?;
    Some((list, index.parse().ok()?, field))
}

/// Whether an image is another one with a digest added. Anybody can write a record, so no other image comes back.
fn adds_digest(image: &str, with_digest: &str) -> bool {
    let parsed = (Reference::parse(image), Reference::parse(with_digest));
    matches!(parsed, (Ok(image), Ok(pinned))
        if image.written() == pinned.written() && image.is_pinned_as(pinned))
}

fn restore_field<'a>(
    now: &mut Place<'a>,
    stored: &Place<'_>,
    from: Option<&str>,
    to: &str,
    field: &str,
) -> Option<RestoredField<'a>> {
    if field == now.list.pull_policy_field() {
        let to = PullPolicy::parse(to)?;
        let brings_from = now.policy.map(PullPolicy::as_str) == from;
        if !brings_from || stored.policy != Some(to) || now.policy == Some(to) {
            return None;
        }
        now.policy = Some(to);
        Some(RestoredField::PullPolicy(now.clone(), to))
    } else if field == now.list.image_field() {
        let brings_from = Some(now.image_text()) == from;
        if !brings_from || stored.image_text() != to || !adds_digest(now.image_text(), to) {
            return None;
        }
        *now.image.as_mut()? = to.to_owned().into();
        Some(RestoredField::Image(now.clone(), to.to_owned()))
    } else {
        None
    }
}
