//! **stuck-pull** tells which containers wait for an image. "It acts only in `Reject` and `Warn`, at
//! CREATE of a Pod with a `status`, if the request names no user." "`Fix` ignores this rule".
//!
//! **Decided**: a status without a container is no finding. An image that can't be read is told by
//! *invalid-image*, so a container that waits for its own such image is no finding here.

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
    // "There is one finding per place."
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
            let images = missing_images(pod, place, text("/state/waiting/message"));
            if images.is_empty() || !told.insert(place) {
                continue;
            }
            let path = format!("status.{key}[{index}].state.waiting.reason");
            let found = reason.into();
            let (expected, repair) = (Value::Null, Repair::None);
            let weight = Weight::Rejects;
            pod.find("stuck-pull", place, path, found, expected, repair, weight);
            if let Some(finding) = pod.findings.last_mut() {
                finding.image = images.join(", ");
            }
        }
    }
}

/// The images that a container may wait for, as they are written. Empty if there is nothing to tell.
///
/// "The finding then tells the image whose reference is in the waiting message between double quotes, as
/// written or in full. The container's own image is tried first." "If the message has no such reference,
/// one finding lists the container's image and the images of the volumes that it mounts."
///
/// **Decided**: only image volumes that are not exempt, and whose image can be read, count.
fn missing_images(pod: &Pod, container: usize, message: &str) -> Vec<String> {
    let written = |place: usize| pod.places[place].image.clone();
    let volumes: Vec<usize> = pod
        .list(List::Volumes)
        .into_iter()
        .filter(|&volume| pod.places[volume].is_examined && pod.reference(volume).is_some())
        .filter(|&volume| {
            let name = &pod.places[volume].name;
            pod.places[container].mounts.contains(name)
        })
        .collect();
    // "An exempt container or init container that mounts image volumes is still looked at here, because
    // of these volumes."
    let is_own_told = pod.places[container].is_examined && pod.reference(container).is_some();
    let own = if is_own_told {
        vec![written(container)]
    } else {
        Vec::new()
    };
    if volumes.is_empty() || is_quoted(message, &written(container)) {
        return own;
    }
    let mut quoted = volumes
        .iter()
        .filter(|&&volume| is_quoted(message, &written(volume)));
    match quoted.next() {
        Some(&volume) => vec![written(volume)],
        None => own
            .into_iter()
            .chain(volumes.into_iter().map(written))
            .collect(),
    }
}

/// Whether a message has an image in double quotes, "as written or in full".
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
