//! *stuck-pull*: reports the containers of an existing Pod that wait for an image.
//!
//! An audit sends an existing Pod, with its status, as a CREATE request without a user. In a request
//! with a user, a person may have written the status, so this rule ignores it. A message of the
//! kubelet may contain addresses and tokens, so this policy never repeats such a message.

use std::collections::{BTreeMap, BTreeSet};

use crate::examination::Examination;
use crate::examination::passed_checks::PassedChecks;
use crate::examination::place::{ImageId, Role};
use crate::findings::{Finding, FindingField, PassedCheck, Reason, WaitingContainer};
use crate::image::Reference;
use crate::pod::{Place, PodSpecList};
use crate::request::PodStatus;

/// The waiting reasons of a container that concern an image, each with a way out for the user.
/// Source: `pkg/kubelet/images/types.go` and `pkg/kubelet/container/sync_result.go`.
const REASONS: [(&str, &str); 7] = [
    ("ErrImagePull", "correct its image, or see to its registry"),
    (
        "ImagePullBackOff",
        "correct its image, or see to its registry",
    ),
    (
        "ErrImageNeverPull",
        "its node doesn't have the image, set it to IfNotPresent",
    ),
    ("InvalidImageName", "correct its image"),
    ("ImageInspectError", "see to its node"),
    ("RegistryUnavailable", "see to its registry"),
    ("SignatureValidationFailed", "sign its image"),
];

/// Reports the containers that wait for an image, in audits.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let object = examination.object;
    let status = object.status();
    if !status.is_waiting() {
        return;
    }
    let examined_by_name = by_list_and_name(examination.places.iter(), |one| one.place);
    let examined = |list: PodSpecList, name: &str| examined_by_name.get(&(list, name)).copied();
    let by_name = by_list_and_name(&object.pod.places, |place| place);
    let passed = passed_checks(examination, &status);
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for container in &status.containers {
        let (list, name) = (container.pod_spec_list, &*container.name);
        let reason = container.waiting_reason.as_deref();
        let Some((reason, way_out)) = REASONS.iter().find(|(known, _)| Some(*known) == reason)
        else {
            continue;
        };
        let Some(place) = by_name.get(&(list, name)) else {
            continue;
        };
        let message = &container.waiting_message;
        let own = examined(list, name);
        // The node lacks the container's own image, but this policy doesn't examine this container. So
        // there is no finding.
        if own.is_none() && names_image(message, place.image_text()) {
            continue;
        }
        let mut seen = BTreeSet::new();
        let mounts = place.mounts();
        let volumes = mounts
            .iter()
            .filter_map(|mount| examined(PodSpecList::Volumes, &mount.name))
            .filter(|volume| seen.insert(volume.place.index));
        let candidates: Vec<_> = own.into_iter().chain(volumes).collect();
        let named = candidates
            .iter()
            .find(|candidate| names_image(message, candidate.image()));
        let Some(missing) = named.or(candidates.first()) else {
            continue;
        };
        // If the message names none of the candidates, each of them may be the missing image.
        let mut images: Vec<_> = match named {
            Some(_) => vec![missing.image()],
            None => candidates.iter().map(|one| one.image()).collect(),
        };
        let mut seen = BTreeSet::new();
        images.retain(|image| seen.insert(*image));
        if !reported.insert((missing.place.list, missing.place.index)) {
            continue;
        }
        let condition = match list {
            PodSpecList::InitContainers => "Initialized",
            _ => "ContainersReady",
        };
        let is_volume = missing.place.list == PodSpecList::Volumes;
        let passed_check = passed.get(&missing.spelling.image).copied();
        let waiting = Reason::Waiting(WaitingContainer {
            container: is_volume.then_some(&*place.name),
            images,
            reason,
            way_out,
            since: (status.last_transition(condition)).filter(|time| !time.is_empty()),
            passed_check: passed_check.filter(|check| {
                list == PodSpecList::Containers && check.name != missing.place.name
            }),
        });
        let field = FindingField::WaitingReason {
            path: format!(
                "status.{}[{}].state.waiting.reason",
                container.status_list, container.index
            ),
            found: reason,
        };
        findings.push(Finding::unrepairable(missing.place, field, waiting));
    }
    examination.findings.append(&mut findings);
}

/// Whether a message of the kubelet has an image in double quotes, as it is written or in normalised form.
fn names_image(message: &str, image: &str) -> bool {
    let has = |image: &str| message.contains(&format!("\"{image}\""));
    let Ok(reference) = Reference::parse(image) else {
        return has(image);
    };
    let in_full = match (reference.digest(), reference.repository_and_tag()) {
        (None, image) => [image, None],
        (Some(digest), image) => [
            Some(format!("{}@{digest}", reference.repository())),
            image.map(|image| format!("{image}@{digest}")),
        ],
    };
    has(image) || in_full.into_iter().flatten().any(|image| has(&image))
}

/// Places by their list and name. If several places have one name, the last of them counts.
fn by_list_and_name<'n, T>(
    places: impl IntoIterator<Item = &'n T>,
    place: impl Fn(&'n T) -> &'n Place<'n>,
) -> BTreeMap<(PodSpecList, &'n str), &'n T> {
    let mut by_name = BTreeMap::new();
    for one in places {
        let place = place(one);
        by_name.insert((place.list, &*place.name), one);
    }
    by_name
}

/// For each image, the first of its checks that passed.
fn passed_checks<'p>(
    examination: &Examination<'p>,
    status: &PodStatus<'_>,
) -> BTreeMap<ImageId, PassedCheck<'p>> {
    let mounters = examination.object.pod.mounters();
    let checks = PassedChecks::of(&mounters, status);
    let mut passed = BTreeMap::new();
    for check in &examination.places {
        if check.role == Role::ImageCheck && checks.has_passed(check.place) {
            passed.entry(check.spelling.image).or_insert(PassedCheck {
                name: &check.place.name,
                policy: check.policy_before(),
            });
        }
    }
    passed
}
