//! The changes as JSON: the entries of the audit annotation `changes`, and the record. The record is the
//! annotation that lists the changes of this policy to the object. People read it, and *re-apply* uses it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::limited_json_list::{LIST_MAX, json, list_of_texts};
use crate::document::JsonNode;
use crate::examination_result::{Change, ExaminationResult};
use crate::pod_spec::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::{CHANGES_ANNOTATION, ExaminedObject};
use crate::rule_id::RuleId;

/// The size that the API server allows for all annotations of an object, with their keys, in
/// bytes. Source: `TotalAnnotationSizeLimitB` in `apimachinery/pkg/api/validation/objectmeta.go`.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The record of these changes: the value of the annotation. None if the other annotations leave no room for a
/// record. The entries of the request's own record come last, so that a forged record can't take the room of the new
/// entries. Changes that do not fit are only counted.
pub(super) fn record_of<'c>(
    changes: impl ExactSizeIterator<Item = ChangeEntry<'c>>,
    object: &ExaminedObject<'_>,
) -> Option<String> {
    let incoming = object.metadata.record();
    let others = other_annotations(object);
    let room = ANNOTATIONS_MAX
        .saturating_sub(others)
        .saturating_sub(CHANGES_ANNOTATION.len());
    let earlier = incoming.as_deref().and_then(read_record);
    let (earlier, more) = earlier.unwrap_or_default();
    let count = changes.len().saturating_add(earlier.len());
    let earlier = earlier.into_iter().map(Cow::Borrowed);
    let entries = changes.map(|change| json(&change)).chain(earlier);
    list_of_texts(entries, count, more, room.min(LIST_MAX))
}

/// The size of all annotations apart from the record, in bytes, as the API server counts it.
fn other_annotations(object: &ExaminedObject<'_>) -> usize {
    let annotations = object
        .metadata
        .annotations
        .iter()
        .flat_map(JsonNode::members);
    let others = annotations.filter(|(key, _)| key != CHANGES_ANNOTATION);
    others
        .map(|(key, value)| {
            let value = value.as_string().unwrap_or_default();
            key.len().saturating_add(value.len())
        })
        .fold(0, usize::saturating_add)
}

/// The entries of the incoming record, and the count of the changes that did not fit into it. None if the record is
/// not a list of objects. Then none of its entries are kept.
fn read_record(record: &str) -> Option<(Vec<&str>, u32)> {
    let mut items = Vec::new();
    let mut more: u32 = 0;
    for item in JsonNode::read(record).ok()?.as_list().ok()? {
        match item.optional("more").ok()? {
            Some(count) => more = more.saturating_add(count.text().parse().ok()?),
            None => items.push(item.text()),
        }
    }
    Some((items, more))
}

/// An entry of the record.
#[derive(Serialize)]
pub(super) struct ChangeEntry<'c> {
    path: String,
    container: Cow<'c, str>,
    from: Option<&'c str>,
    to: ChangedValue<'c>,
    rule: RuleId,
}

/// The new value of a field, or a new element.
#[derive(Serialize)]
#[serde(untagged)]
enum ChangedValue<'c> {
    Text(&'c str),
    NewCheck(Option<Box<RawValue>>),
}

/// An entry for each change, with the paths of the fields in the returned object.
pub(super) fn change_entries<'c>(
    result: &'c ExaminationResult<'_>,
) -> impl ExactSizeIterator<Item = ChangeEntry<'c>> + Clone {
    let index_of_added = result.index_of_added();
    let is_init_container = |change: &&Change<'_>| matches!(change, Change::NewCheck(check) if !check.form.is_image_volume());
    let added = result.changes.iter().filter(is_init_container).count();
    let spec_path = result.object.spec_path();
    // Init containers that are added before a place change its index.
    let path_of = move |place: &Place<'_>, field| {
        let is_moved = place.list == PodSpecList::InitContainers && place.index >= index_of_added;
        let index = place.index.saturating_add(if is_moved { added } else { 0 });
        place.list.path(spec_path, index, field)
    };
    let mut new_init_containers = index_of_added..;
    let mut new_volumes = result.object.pod.volume_names.len()..;
    result.changes.iter().map(move |change| match change {
        Change::Image { place, to } => ChangeEntry {
            path: path_of(place, place.list.image_field()),
            container: Cow::Borrowed(&*place.name),
            from: Some(place.image_text()),
            to: ChangedValue::Text(to),
            rule: RuleId::Registry,
        },
        Change::PullPolicy { place, to, rule } => ChangeEntry {
            path: path_of(place, place.list.pull_policy_field()),
            container: Cow::Borrowed(&*place.name),
            from: place.policy.map(PullPolicy::as_str),
            to: ChangedValue::Text(to.as_str()),
            rule: *rule,
        },
        Change::NewCheck(check) => {
            let (list, indexes) = if check.form.is_image_volume() {
                (PodSpecList::Volumes, &mut new_volumes)
            } else {
                (PodSpecList::InitContainers, &mut new_init_containers)
            };
            ChangeEntry {
                path: list.path(spec_path, indexes.next().unwrap_or_default(), ""),
                container: Cow::Borrowed(&check.own_fields.name),
                from: None,
                to: ChangedValue::NewCheck(check.form.summary(&check.own_fields)),
                rule: RuleId::MissingCheck,
            }
        }
    })
}
