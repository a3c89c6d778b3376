//! The object that goes out: the text that came in, edited where a field changes.

use serde::Serialize;
use serde_json::{Map, Value};

use super::changes::{containers, staying, volumes};
use crate::edit::{self, Edit, between};
use crate::json::{elements, from_value_of, quoted};
use crate::pod::Slot;
use crate::request::{CHANGES_ANNOTATION, Review};
use crate::rules::Work;
use crate::rules::missing_check::{MadeOf, NewCheck, Position};
use crate::rules::replace_check::{carriers, mount_path};
use crate::settings::CheckTemplate;

/// Writes the object with its changes, and with a record of them where there is one. None if
/// something does not stand where it was read, which can't happen.
pub(super) fn edited(work: &Work<'_>, record: Option<&str>) -> Option<String> {
    let review = work.review;
    let object = review.object()?;
    let mut edits = review.restored.clone();
    for entry in staying(work) {
        let place = entry.place;
        if entry.pinned {
            edits.push(place.image_edit(&entry.image_after())?);
        }
        if entry.policy_changed() {
            edits.push(place.policy_edit(entry.policy)?);
        }
    }
    edits.extend(add_init_containers(work, object)?);
    edits.extend(take_out_init_containers(work)?);
    edits.extend(add_volumes(work, object)?);
    if let Some(record) = record {
        edits.push(annotate(review, object, &quoted(record))?);
    }
    edit::apply(object, &edits)
}

/// Only what policies and images are put back to.
pub(super) fn restored(review: &Review<'_>) -> Option<String> {
    edit::apply(review.object()?, &review.restored)
}

fn add_init_containers<'p>(work: &Work<'p>, object: &'p str) -> Option<Vec<Edit<'p>>> {
    let mut new = containers(work).peekable();
    if new.peek().is_none() {
        return Some(Vec::new());
    }
    let review = work.review;
    let list = list_text(review, review.pod.init_containers_key);
    let present = list.map(elements).unwrap_or_default();
    let new = new
        .map(|check| match check.made_of {
            MadeOf::Copy(place) => copy_of(present.get(place.index)?, check, &place.name),
            MadeOf::Template | MadeOf::Volume => Some(from_template(work, check)),
        })
        .collect::<Option<Vec<_>>>()?
        .join(",");
    let position = Position::in_pod_of(work);
    Some(vec![match (position.after, present.first()) {
        (Some(place), _) => Edit::after(present.get(place.index)?, format!(",{new}")),
        (None, Some(first)) => Edit::before(first, format!("{new},")),
        (None, None) => whole_list(review, object, "initContainers", list, &new)?,
    }])
}

/// A copy of a check, with a name, an image and a policy of its own.
fn copy_of(text: &str, check: &NewCheck<'_>, name: &crate::json::JsonString<'_>) -> Option<String> {
    let MadeOf::Copy(place) = check.made_of else {
        return None;
    };
    edit::apply(
        text,
        &[
            Edit::replace(name.raw, quoted(&check.name)),
            place.image_edit(&check.image)?,
            place.policy_edit(check.policy)?,
        ],
    )
}

/// A check made from `imageChecks.template`.
fn from_template(work: &Work<'_>, check: &NewCheck<'_>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Container<'c> {
        name: &'c str,
        image: &'c str,
        image_pull_policy: &'static str,
        #[serde(flatten)]
        template: Option<&'c Map<String, Value>>,
    }
    let template = &work.settings.image_checks.template;
    let container = Container {
        name: &check.name,
        image: &check.image,
        image_pull_policy: check.policy.as_str(),
        template: template.as_ref().map(CheckTemplate::fields),
    };
    serde_json::to_string(&container).unwrap_or_default()
}

/// Takes out the checks that become volumes.
fn take_out_init_containers<'p>(work: &Work<'p>) -> Option<Vec<Edit<'p>>> {
    let gone: Vec<usize> = work
        .replaced
        .iter()
        .filter_map(|index| Some(work.entries.get(*index)?.place.index))
        .collect();
    let mut edits = Vec::new();
    if gone.is_empty() {
        return Some(edits);
    }
    let list = list_text(work.review, work.review.pod.init_containers_key)?;
    let present = elements(list);
    let stays = |index: &usize| gone.binary_search(index).is_err();
    let last_staying = (0..present.len()).rev().find(stays)?;
    for index in gone.iter().filter(|index| **index < last_staying) {
        let next = present.get(index.checked_add(1)?)?;
        let with_comma = between(list, present.get(*index)?, next)?;
        edits.push(Edit::replace(with_comma, String::new()));
    }
    // Behind the last that stays everything goes, with the comma before it.
    let (_, end_of_last) = end_of(present.get(last_staying)?);
    let (_, end) = end_of(present.last()?);
    let rest = between(list, end_of_last, end)?;
    edits.push(Edit::replace(rest, String::new()));
    Some(edits)
}

fn end_of(text: &str) -> (&str, &str) {
    text.split_at(text.len())
}

/// An element of `volumeMounts`.
#[derive(Serialize)]
struct Mount<'v> {
    name: &'v str,
    #[serde(rename = "mountPath")]
    path: String,
    #[serde(rename = "readOnly")]
    is_read_only: bool,
}

/// Adds the volumes of checks, and mounts them.
fn add_volumes<'p>(work: &Work<'p>, object: &'p str) -> Option<Vec<Edit<'p>>> {
    let review = work.review;
    let volumes = volumes(work);
    let mut edits = Vec::new();
    if volumes.is_empty() {
        return Some(edits);
    }
    let names = volumes.iter().map(|(volume, _)| volume.name);
    let mounts = join(
        names
            .chain(work.moved_mounts.iter().copied())
            .map(|name| Mount {
                name,
                path: mount_path(name),
                is_read_only: true,
            }),
    );
    for place in carriers(work, &work.replaced).places(&review.pod) {
        let present = place.mounts_place.map(elements).unwrap_or_default();
        edits.push(match (place.mounts_place, present.last()) {
            (_, Some(last)) => Edit::after(last, format!(",{mounts}")),
            (Some(empty), None) => Edit::replace(empty, format!("[{mounts}]")),
            (None, None) => Edit::after(place.name.raw, format!(",\"volumeMounts\":[{mounts}]")),
        });
    }
    let list = list_text(review, review.pod.volumes_key);
    let present = list.map(elements).unwrap_or_default();
    let new = join(volumes.iter().map(|(volume, _)| volume));
    edits.push(match present.last() {
        Some(volume) => Edit::after(volume, format!(",{new}")),
        None => whole_list(review, object, Slot::ImageVolume.list(), list, &new)?,
    });
    Some(edits)
}

fn join(items: impl Iterator<Item = impl Serialize>) -> String {
    let items: Vec<String> = items
        .filter_map(|item| serde_json::to_string(&item).ok())
        .collect();
    items.join(",")
}

fn list_text<'p>(review: &Review<'p>, key: Option<&'p str>) -> Option<&'p str> {
    review.value_of(key?)
}

/// A list of the Pod spec that is empty, `null`, or not there.
fn whole_list<'p>(
    review: &Review<'p>,
    object: &'p str,
    key: &str,
    list: Option<&'p str>,
    items: &str,
) -> Option<Edit<'p>> {
    Some(match list {
        Some(list) => Edit::replace(list, format!("[{items}]")),
        None => first_member(
            from_value_of(object, review.spec_key?)?,
            &format!("\"{key}\":[{items}]"),
        )?,
    })
}

/// Puts a member into an object that begins there, before all others.
fn first_member<'p>(object: &'p str, member: &str) -> Option<Edit<'p>> {
    let inner = object.strip_prefix('{')?;
    let comma = if inner.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    Some(Edit::before(inner, format!("{member}{comma}")))
}

/// Writes the annotation with the record, whose value is in JSON already.
fn annotate<'p>(review: &Review<'p>, object: &'p str, value: &str) -> Option<Edit<'p>> {
    let metadata = &review.metadata;
    if let Some(present) = metadata.changes {
        return Some(Edit::replace(present, value.to_owned()));
    }
    let mut member = format!("{}:{value}", quoted(CHANGES_ANNOTATION));
    // From the inside to the outside: the first of them that is an object takes what is missing.
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
                Some(Edit::replace(null, format!("{{{member}}}")))
            }
            _ => first_member(present, &member),
        };
    }
    first_member(object, &member)
}
