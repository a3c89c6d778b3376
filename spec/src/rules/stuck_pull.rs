//! **stuck-pull** reports containers that wait for an image. It acts only in the modes `Reject` and
//! `Warn`, at CREATE of a Pod with a `status`. The request must name no user, like a request of an audit.
//!
//! **Decided**: a container status is skipped if the Pod spec has no container of that name. If a
//! container's own image can't be parsed, *invalid-image* reports it. So *stuck-pull* doesn't report that
//! this container waits for its own image.

use std::collections::BTreeSet;

use crate::image::Reference;
use crate::json::{elements, text};
use crate::pod::{List, Pod, RequestKind};
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

pub(crate) fn apply(pod: &mut Pod) {
    if pod.settings.mode() == "Fix" || pod.request_kind != RequestKind::PodCreate || !pod.is_audit {
        return;
    }
    let status = pod.object["status"].clone();
    // A finished Pod waits for nothing, whatever the states of its containers say.
    if ["Succeeded", "Failed"].contains(&text(&status["phase"])) {
        return;
    }
    // Each place gets at most one finding.
    let mut told = BTreeSet::new();
    for (list, key) in [
        (List::InitContainers, "initContainerStatuses"),
        (List::Containers, "containerStatuses"),
    ] {
        for (index, status) in elements(&status, key).iter().enumerate() {
            let waiting = &status["state"]["waiting"];
            let mut places = pod.list(list).into_iter();
            let place = places.find(|&place| pod.places[place].name == text(&status["name"]));
            let Some(place) = place.filter(|_| REASONS.contains(&text(&waiting["reason"]))) else {
                continue;
            };
            let missing = missing(pod, place, text(&waiting["message"]));
            let Some(&first) = missing.first().filter(|first| told.insert(**first)) else {
                continue;
            };
            let images = missing.iter().map(|&one| pod.places[one].image_before());
            let images: BTreeSet<&str> = images.collect();
            let images = Vec::from_iter(images).join(", ");
            let path = format!("status.{key}[{index}].state.waiting.reason");
            pod.find("stuck-pull", first, path, Repair::None, Weight::Rejects);
            if let Some(finding) = pod.findings.last_mut() {
                finding.image = images;
            }
        }
    }
}

/// The places whose images a container may wait for: the container itself, and image volumes that
/// it mounts. The list is empty if there is nothing to report.
///
/// If the kubelet's message has one of these images between double quotes, the finding names only
/// this image. The message may have the Pod's reference or the normalised reference. The container's
/// own image is tried first. If the message has none of these images, one finding names all of them.
///
/// **Decided**: an image volume counts only if the running Pod has the volume, the volume is not
/// exempt, and its image can be parsed. A check volume that `Fix` would add doesn't
/// count. The volumes are tried in the order of the mounts. If the message names a volume's image, the
/// finding is about the volume. So two containers that wait for the same volume lead to one finding.
/// If an exempt container waits for its own image, this is not reported.
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
    if is_quoted(message, pod.places[container].image_before()) {
        return Vec::from_iter(is_own_told.then_some(container));
    }
    let named = volumes
        .iter()
        .find(|&&volume| is_quoted(message, pod.places[volume].image_before()));
    if let Some(&volume) = named {
        return vec![volume];
    }
    let own = is_own_told.then_some(container);
    own.into_iter().chain(volumes).collect()
}

/// Whether a message has an image reference, unchanged or normalised, in double quotes.
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
