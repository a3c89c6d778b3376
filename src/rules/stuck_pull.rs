//! *stuck-pull*: reports the containers of an existing Pod that wait for an image.
//!
//! An audit sends an existing Pod, with its status, as a CREATE request without a user. In a request
//! with a user, a person may have written the status, so this rule ignores it. A message of the
//! kubelet may contain addresses and tokens, so this policy never repeats such a message.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::examination::Examination;
use crate::examination::image_check_results::ImageCheckResults;
use crate::examination::role::Role;
use crate::finding::{Finding, FindingReason, FindingSubject};
use crate::image::{ImageIdentity, Reference};
use crate::pod_spec::PodSpecList;
use crate::pull_policy::PullPolicy;
use crate::request::{PodStatus, RequestType};
use crate::rule_id::RuleId;
use crate::settings::PolicyMode;
use crate::shown_text::TextLimit;

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

/// Reports the containers that wait for an image, in audits. An audit sends an existing Pod as a CREATE request. Mode
/// `Fix` is silent, because it doesn't change a container that waits.
pub(crate) fn report(examination: &mut Examination<'_>) {
    let object = examination.object;
    if object.request_type != RequestType::PodCreate || examination.settings.mode == PolicyMode::Fix
    {
        return;
    }
    let status = object.status();
    if !status.is_waiting() {
        return;
    }
    let mut examined_by_name = BTreeMap::new();
    for examined in &examination.places {
        let place = examined.place;
        examined_by_name.insert((place.list, &*place.name), examined);
    }
    let examined = |list: PodSpecList, name: &str| examined_by_name.get(&(list, name)).copied();
    let by_name = object.pod.places_by_list_and_name();
    let passed = passed_checks(examination, &status);
    let initialized = status.last_transition("Initialized");
    let containers_ready = status.last_transition("ContainersReady");
    let mut waiting_containers = BTreeSet::new();
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
        // A user may have written several entries about one container. The first one counts.
        if !waiting_containers.insert((list, name)) {
            continue;
        }
        let quoted = quoted_texts(&container.waiting_message);
        let own = examined(list, name);
        // The node lacks the container's own image, but this policy doesn't examine this container. So
        // there is no finding.
        if own.is_none() && names_image(&quoted, place.image_text()) {
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
            .find(|candidate| names_image(&quoted, candidate.image()));
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
        let since = match list {
            PodSpecList::InitContainers => &initialized,
            _ => &containers_ready,
        };
        let is_volume = missing.place.list == PodSpecList::Volumes;
        let passed_check = passed.get(&missing.identity()).copied();
        let waiting = StuckPullReason {
            container: is_volume.then_some(&*place.name),
            images,
            reason,
            way_out,
            since: since.clone(),
            passed_check: passed_check.filter(|check| {
                list == PodSpecList::Containers && check.name != missing.place.name
            }),
        };
        let kind = FindingSubject::WaitingReason {
            path: format!(
                "status.{}[{}].state.waiting.reason",
                container.status_list, container.index
            ),
            found: reason,
        };
        findings.push(Finding::not_repairable(missing.place, kind, waiting));
    }
    examination.findings.append(&mut findings);
}

/// The texts in double quotes of a kubelet's message.
fn quoted_texts(message: &str) -> BTreeSet<&str> {
    let mut parts = message.split('"');
    parts.next();
    parts.next_back();
    let mut quoted = BTreeSet::new();
    quoted.extend(parts);
    quoted
}

/// Whether one of the quoted texts is an image, as it is written or in normalised form.
fn names_image(quoted: &BTreeSet<&str>, image: &str) -> bool {
    let has = |image: &str| quoted.contains(image);
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

/// For each image, the first of its checks that passed.
fn passed_checks<'e, 'p>(
    examination: &'e Examination<'p>,
    status: &PodStatus<'_>,
) -> BTreeMap<ImageIdentity<'e>, PassedCheck<'p>> {
    let mounters = examination.object.pod.mounters();
    let checks = ImageCheckResults::of(&mounters, status);
    let mut passed = BTreeMap::new();
    for check in &examination.places {
        if check.role == Role::ImageCheck && checks.has_passed(check.place) {
            passed.entry(check.identity()).or_insert(PassedCheck {
                name: &check.place.name,
                policy: check.policy_before(),
            });
        }
    }
    passed
}

/// A container waits for its image, or for the image of a volume that it mounts.
#[derive(Debug)]
struct StuckPullReason<'p> {
    /// The name of the container, if it waits for the image of a volume. If it waits for its own image,
    /// the finding has its name.
    container: Option<&'p str>,
    /// The images that may be missing.
    images: Vec<&'p str>,
    /// The waiting reason.
    reason: &'static str,
    /// The way out, if no check passed.
    way_out: &'static str,
    /// The time since when the container waits.
    since: Option<Cow<'p, str>>,
    /// The check of the image, if it passed.
    passed_check: Option<PassedCheck<'p>>,
}

/// An image check that passed.
#[derive(Clone, Copy, Debug)]
struct PassedCheck<'p> {
    /// The name of the check.
    name: &'p str,
    /// Its pull policy.
    policy: PullPolicy,
}

impl FindingReason for StuckPullReason<'_> {
    fn rule(&self) -> RuleId {
        RuleId::StuckPull
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let name = finding.name(limit);
        let images: Vec<_> = self.images.iter().map(|image| limit.show(image)).collect();
        let images = images.join(" or ");
        let waits = match self.container {
            Some(container) => {
                let container = limit.show(container);
                format!("{container} waits for {name}'s image {images}")
            }
            None => format!("{name} waits for {images}"),
        };
        let reason = match &self.since {
            Some(since) if !limit.is_for_line() => {
                format!("{} since {}", self.reason, limit.show(since))
            }
            _ => self.reason.to_owned(),
        };
        let Some(check) = self.passed_check else {
            let (found, way_out) = (finding.found_policy_text(), self.way_out);
            return format!("{waits} with {found} ({reason}): {way_out}");
        };
        let passed = limit.show(check.name);
        let way_out = match check.policy {
            PullPolicy::Always => format!("set {name} to IfNotPresent"),
            PullPolicy::IfNotPresent | PullPolicy::Never => format!("set {passed} to Always"),
        };
        if limit.is_for_line() {
            return format!("{waits} ({reason}), yet {passed} passed: {way_out}");
        }
        let policy = check.policy.as_str();
        format!(
            "{waits} ({reason}) although {passed} passed with {policy}: the registry no longer has it or can't be \
             reached; {way_out}"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::answers_for_tests::{answer, lines, pod};

    const PLACES: &str = "init imagecheck-0 app:1 IfNotPresent, app a app:1 IfNotPresent";

    /// The audit of a Pod whose container `a` waits. `check` is the state of imagecheck-0.
    fn audit(places: &str, reason: &str, check: &Value) -> Value {
        let mut request = pod(places);
        request["userInfo"] = Value::Null;
        request["object"]["status"] = json!({
            "initContainerStatuses": [{"name": "imagecheck-0", "state": check}],
            "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": reason}}}],
            "conditions": [{"type": "ContainersReady", "lastTransitionTime": "2026-05-06T07:08:09Z"}],
        });
        request
    }

    #[test]
    fn each_reason_has_its_way_out() {
        for (reason, way_out) in super::REASONS {
            let request = audit(PLACES, reason, &Value::Null);
            assert_eq!(
                answer(&request, &json!({"mode": "Reject"}))["message"],
                format!(
                    "a waits for app:1 with IfNotPresent ({reason} since 2026-05-06T07:08:09Z): {way_out}"
                )
            );
        }
    }

    #[test]
    fn a_check_that_passed_is_named() {
        let passed = json!({"terminated": {"exitCode": 0}});
        let sentence = |places: &str, mode: &str| {
            let answer = answer(
                &audit(places, "ErrImagePull", &passed),
                &json!({"mode": mode}),
            );
            answer["message"]
                .as_str()
                .map_or_else(|| lines(&answer), str::to_owned)
        };
        assert_eq!(
            sentence(PLACES, "Reject"),
            "a waits for app:1 (ErrImagePull since 2026-05-06T07:08:09Z) although imagecheck-0 passed with \
             IfNotPresent: the registry no longer has it or can't be reached; set imagecheck-0 to Always"
        );
        assert_eq!(
            sentence(PLACES, "Warn"),
            "a waits for app:1 (ErrImagePull), yet imagecheck-0 passed: set imagecheck-0 to Always"
        );
        assert_eq!(
            sentence(&PLACES.replacen("IfNotPresent", "Always", 1), "Warn"),
            "a waits for app:1 (ErrImagePull), yet imagecheck-0 passed: set a to IfNotPresent"
        );
    }

    #[test]
    fn the_volume_of_a_container_is_named() {
        let mut request = audit(
            "app a app:1 IfNotPresent, volume v data:1 Always",
            "ErrImagePull",
            &Value::Null,
        );
        request["object"]["spec"]["containers"][0]["volumeMounts"] =
            json!([{"name": "v", "mountPath": "/v"}]);
        let waiting = "/status/containerStatuses/0/state/waiting";
        request["object"].pointer_mut(waiting).expect("a state")["message"] =
            json!("failed to pull \"data:1\"");
        assert_eq!(
            answer(&request, &json!({"mode": "Reject"}))["message"],
            "a waits for v's image data:1 with Always (ErrImagePull since 2026-05-06T07:08:09Z): correct its \
             image, or see to its registry"
        );
    }
}
