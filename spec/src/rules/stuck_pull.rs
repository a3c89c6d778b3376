//! **stuck-pull**: "only at CREATE of a Pod whose `status` has a waiting container … in `Reject`
//! and `Warn`". "`Fix` ignores it".
//!
//! **Decided**: a status without a container, of an exempt container, and of an image that can't be
//! read is no finding.

use serde_json::Value;

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
    if pod.settings.mode() == "Fix" || pod.event != Event::PodCreate {
        return;
    }
    let lists = [
        (List::InitContainers, "initContainerStatuses"),
        (List::Containers, "containerStatuses"),
    ];
    for (list, key) in lists {
        let statuses = status.get(key).and_then(Value::as_array);
        for (index, status) in statuses.into_iter().flatten().enumerate() {
            let reason = status
                .pointer("/state/waiting/reason")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let name = status
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let place = pod
                .examined()
                .into_iter()
                .find(|&place| pod.places[place].list == list && pod.places[place].name == name);
            // What can't be pulled at all is *invalid-image*'s to tell.
            let place = place.filter(|&place| pod.reference(place).is_some());
            if let Some(place) = place.filter(|_| REASONS.contains(&reason)) {
                let path = format!("status.{key}[{index}].state.waiting.reason");
                pod.find(
                    "stuck-pull",
                    place,
                    path,
                    reason.into(),
                    Value::Null,
                    Repair::None,
                    Weight::Rejects,
                );
            }
        }
    }
}
