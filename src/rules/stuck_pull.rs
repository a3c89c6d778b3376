//! *stuck-pull*: tells which containers of an existing Pod wait for an image.
//!
//! An audit sends an existing Pod, with its status, as a CREATE request without a user. In a request with a user, a person may
//! have written the status, so this rule ignores it. A message of the kubelet may contain addresses and tokens, so this policy
//! never repeats such a message.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::examination::{Effect, Examination, Place, Reason, Role, Rule, Subject};
use crate::image::PullPolicy;
use crate::json::{elements, text};
use crate::pod::List;
use crate::request::Operation;

/// The waiting reason of a container of which an image isn't on the node and may not be pulled.
const NEVER: &str = "ErrImageNeverPull";

/// The waiting reasons of a container that concern an image, each with the way out. Source: `pkg/kubelet/images/types.go` and
/// `pkg/kubelet/container/sync_result.go`.
const REASONS: [(&str, &str); 7] = [
    ("ErrImagePull", "correct its image, or see to its registry"),
    (
        "ImagePullBackOff",
        "correct its image, or see to its registry",
    ),
    (NEVER, "because its node doesn't have the image"),
    ("InvalidImageName", "correct its image"),
    ("ImageInspectError", "see to its node"),
    ("RegistryUnavailable", "see to its registry"),
    ("SignatureValidationFailed", "sign its image"),
];

/// Reports the containers that wait for an image. Mode `Fix` is silent, because it doesn't change a container that waits.
pub(super) fn find(examination: &mut Examination<'_>) {
    let request = examination.request;
    let is_audit = request.operation == Operation::PodCreate && request.names_no_user;
    let Some(status) = request.object.get("status").filter(|_| is_audit) else {
        return;
    };
    // The kubelet leaves an init container that never started in the state `waiting`, even after the Pod has failed.
    if matches!(text(status, "phase"), Some("Succeeded" | "Failed")) {
        return;
    }
    let mut places = BTreeMap::new();
    for (index, place) in examination.places.iter().enumerate() {
        places
            .entry((place.list, &*place.name))
            .or_insert((index, place));
    }
    for (list, statuses, condition) in [
        (List::InitContainers, "initContainerStatuses", "Initialized"),
        (List::Containers, "containerStatuses", "ContainersReady"),
    ] {
        let since = last_transition(status, condition).map(str::to_owned);
        let mut seen = BTreeSet::new();
        for (entry, container) in elements(status, statuses).iter().enumerate() {
            // A person may have written several entries about one container. The first one counts.
            let Some(name) = text(container, "name").filter(|name| seen.insert(*name)) else {
                continue;
            };
            let Some((index, place)) = places.get(&(list, name)).copied() else {
                continue;
            };
            let reason = container
                .pointer("/state/waiting/reason")
                .and_then(Value::as_str);
            let reason = REASONS.iter().find(|(known, _)| Some(*known) == reason);
            let (Some((reason, help)), false) = (reason, place.role == Role::Exempt) else {
                continue;
            };
            let volumes = place
                .mounts
                .iter()
                .filter_map(|mount| places.get(&(List::Volumes, mount.volume)));
            let (mut images, mut never) = (BTreeSet::new(), BTreeSet::new());
            for place in [place].into_iter().chain(volumes.map(|(_, place)| *place)) {
                images.insert(place.shown_image().into_owned());
                if *reason == NEVER && place.policy.before == PullPolicy::Never {
                    never.insert(place.shown_name().into_owned());
                }
            }
            let path = format!("status.{statuses}[{entry}].state.waiting.reason");
            let stuck = Stuck {
                reason,
                help,
                images,
                never,
                since: since.clone(),
            };
            let subject = Subject::Status { path, reason };
            examination
                .findings
                .add(index, Rule::StuckPull, subject, Effect::IgnoredByFix, stuck);
        }
    }
}

/// The time of a condition's last transition. None if it is not written as the API server writes a time.
fn last_transition<'v>(status: &'v Value, condition: &str) -> Option<&'v str> {
    let mut conditions = elements(status, "conditions").iter();
    let condition = conditions.find(|entry| text(entry, "type") == Some(condition))?;
    text(condition, "lastTransitionTime").filter(|time| is_time(time))
}

/// Whether a text has the form `2026-05-06T07:08:09Z`.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    let fits = |(byte, form): (u8, &u8)| {
        if *form == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == *form
        }
    };
    text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)
}

/// A container waits for its image, or for the image of a volume that it mounts.
#[derive(Debug)]
struct Stuck {
    reason: &'static str,
    help: &'static str,
    /// The image of the container, and those of the volumes that it mounts, as a sentence shows them.
    images: BTreeSet<String>,
    /// The names of those that have `Never`, if this is the reason.
    never: BTreeSet<String>,
    since: Option<String>,
}

fn joined(texts: &BTreeSet<String>, separator: &str) -> String {
    texts
        .iter()
        .map(|text| &**text)
        .collect::<Vec<_>>()
        .join(separator)
}

impl Reason for Stuck {
    fn problem(&self, place: &Place<'_>) -> String {
        let images = joined(&self.images, " or ");
        let since = self
            .since
            .as_ref()
            .map(|since| format!(" since {since}"))
            .unwrap_or_default();
        format!(
            "{} waits for {} ({}{since})",
            place.shown_name(),
            images,
            self.reason
        )
    }

    fn help(&self, place: &Place<'_>) -> String {
        if self.reason != NEVER {
            return self.help.to_owned();
        }
        let never = joined(&self.never, " and ");
        let never = if never.is_empty() {
            &*place.shown_name()
        } else {
            &never
        };
        format!(
            "make the Pod anew with IfNotPresent for {never}, {}",
            self.help
        )
    }
}
