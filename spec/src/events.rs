//! Events in a Pod's life. An event may happen before this policy sees the Pod, between this policy
//! and the copy, or after the Pod was created.
//!
//! The functions here make the objects and requests of the events. [`promises`](crate::promises)
//! checks the promises that apply to each event.

mod mesh;
mod webhook;

use serde_json::{Value, json};

use crate::RECORD;
use crate::json::{CONTAINER_LISTS, elements, elements_mut, list_mut, named, text};

pub use self::mesh::Mesh;
pub use self::webhook::Webhook;

/// An event in a Pod's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The Pod is created. Nothing else happens.
    Created,
    /// A service mesh injects its containers before this policy sees the Pod.
    InjectedBefore(Mesh),
    /// Another webhook changes the Pod after this policy in mode `Fix`, and before the copy.
    ChangedBetween(Webhook),
    /// The plugin `AlwaysPullImages` raises all pull policies to `Always`: once before the webhooks run,
    /// and once after them.
    AlwaysPullImages,
    /// The namespace has a quota of cpu and memory. In the admission request, every init and app
    /// container has requests and limits for cpu and memory, or the Pod has `spec.resources`.
    ResourceQuota,
    /// The namespace has the Pod Security level `restricted`. Unless `spec.os.name` is `windows`,
    /// every init and app container in the admission request complies with this level.
    PodSecurityRestricted,
    /// A person applies the manifest once more.
    AppliedAgain,
    /// A person adds a container with `kubectl debug`.
    Debugged,
    /// A person creates a copy of the Pod with `kubectl debug --copy-to`. The first app container gets
    /// another image.
    CopiedToDebug,
    /// A person changes an image with `kubectl set image`. A check of the old image waits for it. The
    /// stored Pod has a forged record, which asks for the old image.
    ImageSet,
    /// An audit examines the running Pod.
    Audited,
    /// An audit examines the Pod while a container waits for the image of a volume.
    AuditedWhileWaiting,
    /// A person pastes a `status` into the manifest.
    StatusPasted,
}

impl Event {
    /// All events.
    pub const ALL: [Self; 25] = [
        Self::Created,
        Self::InjectedBefore(Mesh::IstioNativeSidecar),
        Self::InjectedBefore(Mesh::IstioSidecar),
        Self::InjectedBefore(Mesh::LinkerdNativeSidecar),
        Self::InjectedBefore(Mesh::LinkerdSidecar),
        Self::ChangedBetween(Webhook::Mesh(Mesh::IstioNativeSidecar)),
        Self::ChangedBetween(Webhook::Mesh(Mesh::IstioSidecar)),
        Self::ChangedBetween(Webhook::Mesh(Mesh::LinkerdNativeSidecar)),
        Self::ChangedBetween(Webhook::Mesh(Mesh::LinkerdSidecar)),
        Self::ChangedBetween(Webhook::VolumeImagesDropped),
        Self::ChangedBetween(Webhook::DigestsPinned),
        Self::ChangedBetween(Webhook::RegistriesRenamed),
        Self::ChangedBetween(Webhook::VolumesAdded),
        Self::ChangedBetween(Webhook::RuntimeClassRemoved),
        Self::ChangedBetween(Webhook::InitContainerAdded),
        Self::AlwaysPullImages,
        Self::ResourceQuota,
        Self::PodSecurityRestricted,
        Self::AppliedAgain,
        Self::Debugged,
        Self::CopiedToDebug,
        Self::ImageSet,
        Self::Audited,
        Self::AuditedWhileWaiting,
        Self::StatusPasted,
    ];

    /// Changes the Pod of the request, if the event happens before this policy sees the Pod.
    pub fn happen_before(self, pod: &mut Value) {
        match self {
            Self::InjectedBefore(mesh) => mesh.inject(pod),
            Self::AlwaysPullImages => raise_all(pod),
            Self::ResourceQuota => give_resources(pod),
            Self::PodSecurityRestricted => give_security_contexts(pod),
            _ => {}
        }
    }
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

/// If an init or app container lacks a request or a limit for cpu or memory, replaces all of its
/// requests and limits. A Pod with `spec.resources` is not changed, because the quota then counts
/// `spec.resources` and not the containers' resources.
pub fn give_resources(pod: &mut Value) {
    if pod["spec"]["resources"].is_object() {
        return;
    }
    for list in ["initContainers", "containers"] {
        for container in elements_mut(&mut pod["spec"], list) {
            let has_both = |kind: &str| {
                let own = &container["resources"][kind];
                !own["cpu"].is_null() && !own["memory"].is_null()
            };
            if !has_both("requests") || !has_both("limits") {
                container["resources"]["requests"] = json!({"cpu": "100m", "memory": "64Mi"});
                container["resources"]["limits"] = json!({"cpu": "200m", "memory": "64Mi"});
            }
        }
    }
}

/// Gives each init and app container the security context that Pod Security's level `restricted`
/// requires. A Pod whose `spec.os.name` is `windows` is not changed, because the API server rejects
/// most fields of this security context in a Windows Pod.
pub fn give_security_contexts(pod: &mut Value) {
    if pod["spec"]["os"]["name"] == "windows" {
        return;
    }
    for list in ["initContainers", "containers"] {
        for container in elements_mut(&mut pod["spec"], list) {
            container["securityContext"] = json!({
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "runAsNonRoot": true,
                "runAsUser": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            });
        }
    }
}

/// Returns the request of `kubectl apply`, if the manifest in `create` is applied again and its Pod
/// is stored. kubectl keeps the containers, volumes and mounts that a webhook added. It writes the
/// images, the pull policies and the volumes of the manifest.
#[must_use]
pub fn applied_again(create: &Value, stored: &Value) -> Value {
    let manifest = &create["object"]["spec"];
    let mut object = stored.clone();
    for list in CONTAINER_LISTS {
        for container in elements_mut(&mut object["spec"], list) {
            let name = container["name"].clone();
            if let Some(written) = named(elements(manifest, list), &name) {
                for key in ["image", "imagePullPolicy"] {
                    // A field that the manifest doesn't set keeps its stored value.
                    if !text(&written[key]).is_empty() {
                        container[key] = written[key].clone();
                    }
                }
            }
        }
    }
    for volume in elements_mut(&mut object["spec"], "volumes") {
        let name = volume["name"].clone();
        if let Some(written) = named(elements(manifest, "volumes"), &name) {
            *volume = written.clone();
        }
    }
    update(create, object, stored)
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
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }));
    let mut request = update(create, object, stored);
    request["subResource"] = "ephemeralcontainers".into();
    request
}

/// The image that a person writes into a Pod.
const OTHER_IMAGE: &str = "ghcr.io/team/corrected:v2";

/// Returns the request of `kubectl debug --copy-to`, which creates a copy of a stored Pod. The copy has
/// no annotations and no owner. Its first app container has another image.
#[must_use]
pub fn copied_to_debug(create: &Value, stored: &Value) -> Value {
    let mut request = create.clone();
    let mut spec = stored["spec"].clone();
    if let Some(members) = spec.as_object_mut() {
        members.remove("ephemeralContainers");
        members.remove("nodeName");
    }
    if let Some(container) = elements_mut(&mut spec, "containers").next() {
        container["image"] = OTHER_IMAGE.into();
    }
    let metadata = json!({"name": "debug", "namespace": stored["metadata"]["namespace"]});
    request["name"] = "debug".into();
    request["object"] =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    request["userInfo"] = json!({"username": "jane"});
    request
}

/// Returns the request of `kubectl set image`, for all app containers that have the image of the first
/// one. The stored Pod has this status.
#[must_use]
pub fn image_set(create: &Value, stored: &Value, status: &Value) -> Value {
    let mut stored = stored.clone();
    stored["status"] = status.clone();
    let mut object = stored.clone();
    let image = object["spec"]["containers"][0]["image"].clone();
    for container in elements_mut(&mut object["spec"], "containers") {
        if container["image"] == image {
            container["image"] = OTHER_IMAGE.into();
        }
    }
    let mut request = update(create, object, &stored);
    request["userInfo"] = json!({"username": "jane"});
    request
}

/// Writes a record into the stored Pod which claims that this policy wrote each image that the request
/// changes. Anybody can write such a record, so only an added digest may come back.
pub fn forge_record(request: &mut Value) {
    let mut entries = Vec::new();
    for list in ["initContainers", "containers"] {
        let stored = elements(&request["oldObject"]["spec"], list).iter();
        let brought = elements(&request["object"]["spec"], list);
        for (index, (stored, brought)) in stored.zip(brought).enumerate() {
            if stored["image"] != brought["image"] {
                entries.push(json!({
                    "path": format!("spec.{list}[{index}].image"), "container": stored["name"],
                    "from": brought["image"], "to": stored["image"], "rule": "registry",
                }));
            }
        }
    }
    let metadata = &mut request["oldObject"]["metadata"];
    if metadata.is_object() && !entries.is_empty() {
        metadata["annotations"] = json!({RECORD: Value::from(entries).to_string()});
    }
}

/// Returns the request of an audit for a Pod that exists: a CREATE that names no user.
#[must_use]
pub fn audit(create: &Value, stored: &Value, status: Value) -> Value {
    let mut request = create.clone();
    request["userInfo"] = json!({});
    let mut object = stored.clone();
    let metadata = &mut object["metadata"];
    metadata["uid"] = "00000000-0000-4000-8000-000000000002".into();
    metadata["creationTimestamp"] = "2026-11-21T09:06:17Z".into();
    if metadata["name"].is_null() {
        let prefix = metadata["generateName"].as_str().unwrap_or("pod-");
        metadata["name"] = format!("{prefix}x7k2p").into();
    }
    if object["spec"]["nodeName"].is_null() {
        object["spec"]["nodeName"] = "node-1".into();
    }
    object["status"] = status;
    request["name"] = object["metadata"]["name"].clone();
    request["object"] = object;
    request
}

/// Returns the status of a running Pod: its native sidecars and its app containers run, and its
/// other init containers have ended.
#[must_use]
pub fn running_status(pod: &Value) -> Value {
    status(pod, "Running", |container, list| {
        if list == "initContainers" && container["restartPolicy"] != "Always" {
            json!({"terminated": {"exitCode": 0, "reason": "Completed"}})
        } else {
            json!({"running": {"startedAt": "2026-11-21T09:06:20Z"}})
        }
    })
}

/// Returns the status of a Pod in which one container waits for an image. The waiting message has
/// the image in double quotes, like the kubelet's messages. No other container has started.
#[must_use]
pub fn waiting_status(pod: &Value, name: &Value, image: &str) -> Value {
    status(pod, "Pending", |container, _| {
        if container["name"] == *name {
            json!({"waiting": {
                "reason": "ImagePullBackOff",
                "message": format!("Back-off pulling image \"{image}\": ErrImagePull: not found"),
            }})
        } else {
            json!({"waiting": {"reason": "PodInitializing"}})
        }
    })
}

fn status(pod: &Value, phase: &str, state: impl Fn(&Value, &str) -> Value) -> Value {
    let statuses = |list: &'static str| -> Value {
        let containers = elements(&pod["spec"], list).iter();
        let statuses = containers.map(|container| {
            let state = state(container, list);
            json!({
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": state["running"].is_object(),
                "restartCount": 0,
                "state": state,
            })
        });
        statuses.collect()
    };
    json!({
        "phase": phase,
        "conditions": [{
            "type": "Initialized",
            "status": if phase == "Running" { "True" } else { "False" },
            "lastTransitionTime": "2026-11-21T09:06:18Z",
        }],
        "initContainerStatuses": statuses("initContainers"),
        "containerStatuses": statuses("containers"),
    })
}
