//! The returned object: the text of the request's object, with edits of the changed fields.

use crate::document::text_edit::{TextEdit, apply_edits};
use crate::document::{JsonNode, append, quoted, set_member};
use crate::examination_result::{Change, ExaminationResult};
use crate::pod_spec::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::request::{CHANGES_ANNOTATION, RestoredField};

/// Writes the object with the restored fields and all changes, and with the record if there is one. None if
/// the object or a text to edit isn't found, or if two edits overlap. No known input leads to None.
pub(super) fn changed_object(
    result: &ExaminationResult<'_>,
    record: Option<&str>,
) -> Option<String> {
    let object = result.object;
    let mut edits = Vec::new();
    for field in &object.restored {
        edits.push(match field {
            RestoredField::PullPolicy(place, policy) => set_pull_policy(place, *policy)?,
            RestoredField::Image(place, image) => set_image(place, image)?,
        });
    }
    let (mut init_containers, mut volumes, mut mounts) = (Vec::new(), Vec::new(), Vec::new());
    for change in &result.changes {
        match change {
            Change::Image { place, to } => edits.push(set_image(place, to)?),
            Change::PullPolicy { place, to, .. } => edits.push(set_pull_policy(place, *to)?),
            Change::NewCheck(check) => {
                let element = check.form.element(&check.own_fields);
                if check.form.is_image_volume() {
                    mounts.push(serde_json::to_string(&check.own_fields.mount()).ok()?);
                    volumes.push(element);
                } else {
                    init_containers.push(element);
                }
            }
        }
    }
    if !init_containers.is_empty() {
        edits.push(add_init_containers(result, &init_containers.join(","))?);
    }
    if !volumes.is_empty() {
        let list = PodSpecList::Volumes.name();
        edits.push(append(&object.pod.spec, list, &volumes.join(","))?);
        let mounts = mounts.join(",");
        for carrier in &result.carriers {
            edits.push(append(&carrier.node, "volumeMounts", &mounts)?);
        }
    }
    if let Some(record) = record {
        edits.push(annotate(&object.node, record)?);
    }
    apply_edits(object.node.text(), &edits)
}

fn set_pull_policy<'p>(place: &Place<'p>, policy: PullPolicy) -> Option<TextEdit<'p>> {
    let key = place.list.pull_policy_key();
    set_member(&place.image_source, key, &quoted(policy.as_str()))
}

fn set_image<'p>(place: &Place<'p>, image: &str) -> Option<TextEdit<'p>> {
    set_member(&place.image_source, place.list.image_key(), &quoted(image))
}

fn add_init_containers<'p>(result: &ExaminationResult<'p>, elements: &str) -> Option<TextEdit<'p>> {
    let pod = &result.object.pod;
    if let Some(place) = result.predecessor {
        return Some(TextEdit::after(place.node.text(), format!(",{elements}")));
    }
    match pod.list(PodSpecList::InitContainers).next() {
        Some(first) => Some(TextEdit::before(first.node.text(), format!("{elements},"))),
        None => append(&pod.spec, PodSpecList::InitContainers.name(), elements),
    }
}

/// Writes the annotation with the record. The annotations or the metadata may be missing or `null`.
fn annotate<'p>(object: &JsonNode<'p>, record: &str) -> Option<TextEdit<'p>> {
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
