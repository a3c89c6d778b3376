//! Events in a Pod's life: between this policy and the guard, or after the Pod was created.
//!
//! The functions here make the objects and requests of the events. [`promises`](crate::promises)
//! checks the promises that apply to each event.

mod webhook;

use serde_json::{Value, json};

use crate::json::{CONTAINER_LISTS, elements, elements_mut, list_mut, named};

pub use self::webhook::Webhook;

/// An event in a Pod's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The Pod is created. Nothing else happens.
    Created,
    /// Another webhook changes the Pod after this policy in mode `Fix`, and before the guard.
    ChangedBetween(Webhook),
    /// The plugin `AlwaysPullImages` raises all pull policies to `Always`: once before the webhooks
    /// run, and once after them.
    AlwaysPullImages,
    /// A person adds a container with `kubectl debug`.
    Debugged,
    /// A person changes an image with `kubectl set image`.
    ImageSet,
    /// A person applies the same manifest again, or a syncer writes its images again.
    AppliedAgain,
    /// An audit examines the running Pod.
    Audited,
}

impl Event {
    /// All events.
    pub const ALL: [Self; 10] = [
        Self::Created,
        Self::ChangedBetween(Webhook::InitContainerInjected),
        Self::ChangedBetween(Webhook::VolumeImagesDropped),
        Self::ChangedBetween(Webhook::DigestsPinned),
        Self::ChangedBetween(Webhook::RegistriesRenamed),
        Self::AlwaysPullImages,
        Self::Debugged,
        Self::ImageSet,
        Self::AppliedAgain,
        Self::Audited,
    ];
}

/// Raises every pull policy to `Always`, as the plugin `AlwaysPullImages` does. Source:
/// `plugin/pkg/admission/alwayspullimages/admission.go` in `kubernetes/kubernetes`.
pub fn raise_all(pod: &mut Value) {
    let spec = &mut pod["spec"];
    for list in CONTAINER_LISTS {
        for container in elements_mut(spec, list) {
            container["imagePullPolicy"] = "Always".into();
        }
    }
    for volume in elements_mut(spec, "volumes") {
        if let Some(source) = volume.get_mut("image").filter(|source| source.is_object()) {
            source["pullPolicy"] = "Always".into();
        }
    }
}

fn update(create: &Value, object: Value, stored: &Value) -> Value {
    let mut request = create.clone();
    request["operation"] = "UPDATE".into();
    request["object"] = object;
    request["oldObject"] = stored.clone();
    request
}

/// Returns the request of `kubectl debug`, which adds an ephemeral container to a stored Pod.
#[must_use]
pub fn debugged(create: &Value, stored: &Value) -> Value {
    let mut object = stored.clone();
    list_mut(&mut object["spec"], "ephemeralContainers").push(json!({
        "name": "debugger-x7k2p",
        "image": "docker.io/library/busybox:1.36",
        "imagePullPolicy": "IfNotPresent",
        "stdin": true,
        "tty": true,
    }));
    let mut request = update(create, object, stored);
    request["subResource"] = "ephemeralcontainers".into();
    request
}

/// Returns the request of `kubectl set image`, for all app containers that have the image of the
/// first one.
#[must_use]
pub fn image_set(create: &Value, stored: &Value) -> Value {
    let mut object = stored.clone();
    let image = object["spec"]["containers"][0]["image"].clone();
    for container in elements_mut(&mut object["spec"], "containers") {
        if container["image"] == image {
            container["image"] = "ghcr.io/team/corrected:v2".into();
        }
    }
    let mut request = update(create, object, stored);
    request["userInfo"] = json!({"username": "jane"});
    request
}

/// Returns the request that writes the images of the created Pod into the stored one.
#[must_use]
pub fn applied_again(create: &Value, stored: &Value) -> Value {
    let mut object = stored.clone();
    for list in ["initContainers", "containers"] {
        let written = elements(&create["object"]["spec"], list);
        for container in elements_mut(&mut object["spec"], list) {
            if let Some(written) = named(written, &container["name"]) {
                container["image"] = written["image"].clone();
            }
        }
    }
    update(create, object, stored)
}

/// Returns the request of an audit for a running Pod: a CREATE that names no user. In the Pod's
/// status, its native sidecars and its app containers run, and its other init containers have
/// ended.
#[must_use]
pub fn audit(create: &Value, stored: &Value) -> Value {
    let mut request = create.clone();
    request["userInfo"] = json!({});
    let mut object = stored.clone();
    let metadata = &mut object["metadata"];
    metadata["uid"] = "00000000-0000-4000-8000-000000000002".into();
    metadata["creationTimestamp"] = "2026-11-21T09:06:17Z".into();
    if object["spec"]["nodeName"].is_null() {
        object["spec"]["nodeName"] = "node-1".into();
    }
    let statuses = |list: &str| -> Value {
        let containers = elements(&stored["spec"], list).iter();
        let statuses = containers.map(|container| {
            let has_ended = list == "initContainers" && container["restartPolicy"] != "Always";
            let state = if has_ended {
                json!({"terminated": {"exitCode": 0, "reason": "Completed"}})
            } else {
                json!({"running": {"startedAt": "2026-11-21T09:06:20Z"}})
            };
            json!({"name": container["name"], "image": container["image"], "state": state})
        });
        statuses.collect()
    };
    object["status"] = json!({
        "phase": "Running",
        "initContainerStatuses": statuses("initContainers"),
        "containerStatuses": statuses("containers"),
    });
    request["object"] = object;
    request
}
