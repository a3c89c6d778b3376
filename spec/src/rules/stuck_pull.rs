//! **stuck-pull** reports containers that wait for an image. It acts only in `Reject` and `Warn`,
//! at CREATE of a Pod with a `status`, if the request names no user. `Fix` ignores this rule.
//!
//! **Decided**: a container status is skipped if the Pod spec has no container of that name.
//! *invalid-image* reports references that can't be parsed. So this rule doesn't report a container
//! whose own reference can't be parsed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::image::Reference;
use crate::pod::{Event, List, Pod};
use crate::verdict::{Repair, Weight};

const REASONS: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
    "SignatureValidationFailed",
    "RegistryUnavailable",
];

pub(crate) fn apply(pod: &mut Pod, status: &Value) {
    if pod.settings.mode() == "Fix" || pod.event != Event::PodCreate || !pod.is_audit {
        return;
    }
    let lists = [
        (List::InitContainers, "initContainerStatuses"),
        (List::Containers, "containerStatuses"),
    ];
    // There is one finding per place.
    let mut told = BTreeSet::new();
    for (list, key) in lists {
        let statuses = status.get(key).and_then(Value::as_array);
        for (index, status) in statuses.into_iter().flatten().enumerate() {
            let text = |pointer: &str| {
                let text = status.pointer(pointer).and_then(Value::as_str);
                text.unwrap_or_default()
            };
            let (name, reason) = (text("/name"), text("/state/waiting/reason"));
            let mut places = pod.list(list).into_iter();
            let place = places.find(|&place| pod.places[place].name == name);
            let Some(place) = place.filter(|_| REASONS.contains(&reason)) else {
                continue;
            };
            let missing = missing(pod, place, text("/state/waiting/message"));
            let Some(&first) = missing.first().filter(|first| told.insert(**first)) else {
                continue;
            };
            let images: BTreeSet<String> = missing.iter().map(|&one| written(pod, one)).collect();
            let path = format!("status.{key}[{index}].state.waiting.reason");
            let found = reason.into();
            let (expected, repair) = (Value::Null, Repair::None);
            let weight = Weight::Rejects;
            pod.find("stuck-pull", first, path, found, expected, repair, weight);
            if let Some(finding) = pod.findings.last_mut() {
                finding.image = Vec::from_iter(images).join(", ");
            }
        }
    }
}

/// The places whose image a container may wait for: the container itself, or image volumes that it
/// mounts. The list is empty if there is nothing to report.
///
/// If the waiting message has an image reference in double quotes, the finding names that image.
/// The reference may be as written or normalised. The container's own image is tried first. If the
/// message has no such reference, one finding lists the container's image and the images of the
/// volumes that it mounts.
///
/// **Decided**: an image volume counts only if the running Pod has it, if it is not exempt and if
/// its image can be parsed. A check volume that `Fix` would add doesn't count. The volumes are tried
/// in the order of the mounts. The finding is about the volume, so two containers that wait for the
/// same volume are one finding. An exempt container that waits for its own image is not reported.
fn missing(pod: &Pod, container: usize, message: &str) -> Vec<usize> {
    let mut volumes: Vec<usize> = Vec::new();
    for mount in &pod.places[container].mounts {
        let mounted = pod.list(List::Volumes).into_iter().find(|&volume| {
            pod.places[volume].name == *mount
                && pod.places[volume].came_in.is_some()
                && pod.places[volume].is_examined
                && pod.reference(volume).is_some()
        });
        volumes.extend(mounted.filter(|volume| !volumes.contains(volume)));
    }
    // An exempt container may mount image volumes that are not exempt. These volumes are still
    // examined.
    let is_own_told = pod.places[container].is_examined && pod.reference(container).is_some();
    let is_own_named = is_quoted(message, &written(pod, container));
    if is_own_told && is_own_named {
        return vec![container];
    }
    let named = volumes
        .iter()
        .find(|&&volume| is_quoted(message, &written(pod, volume)));
    match named {
        Some(&volume) => vec![volume],
        None if is_own_named => Vec::new(),
        None => {
            let own = is_own_told.then_some(container);
            own.into_iter().chain(volumes).collect()
        }
    }
}

/// The image of a place in the admission request.
fn written(pod: &Pod, place: usize) -> String {
    let place = &pod.places[place];
    let came_in = place.came_in.as_ref();
    let image = came_in.and_then(|came_in| came_in.image.as_str());
    image.unwrap_or(&place.image).to_owned()
}

/// Whether a message has an image in double quotes, as written or normalised.
fn is_quoted(message: &str, image: &str) -> bool {
    let mut spellings = vec![image.to_owned()];
    if let Some(reference) = Reference::parse(image) {
        spellings.push(reference.normalised());
        if let (Some(name), Some(digest)) = (reference.name_and_tag(), &reference.digest) {
            spellings.push(format!("{name}@{digest}"));
        }
    }
    spellings
        .iter()
        .any(|spelling| message.contains(&format!("\"{spelling}\"")))
}
