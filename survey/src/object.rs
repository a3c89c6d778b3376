//! Kubernetes objects with a Pod spec: their kinds, the requests that create them, and the server
//! defaults.

use serde::Serialize;
use serde_json::{Value, json};

use crate::json::{list, text};
use crate::kubelet::{Place, PullPolicy, Role};

/// The group and the version in the `apiVersion` of an object.
fn group_and_version(object: &Value) -> (&str, &str) {
    let version = text(object, "/apiVersion");
    version.split_once('/').unwrap_or(("", version))
}

/// The path of an object's Pod spec. `None` if its kind has none. Several groups can share a kind's
/// name.
pub(crate) fn spec_path(object: &Value) -> Option<&'static str> {
    Some(match (group_and_version(object).0, text(object, "/kind")) {
        ("", "Pod") => "/spec",
        ("", "PodTemplate") => "/template/spec",
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        ("batch", "Job")
        | ("", "ReplicationController")
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet") => {
            "/spec/template/spec"
        }
        _ => return None,
    })
}

/// The path of what has the metadata and the spec of an object's Pods: its pod template, or the Pod
/// itself.
pub(crate) fn template_path(object: &Value) -> Option<&'static str> {
    spec_path(object)?.strip_suffix("/spec")
}

/// The Pod spec of an object.
pub(crate) fn pod_spec(object: &Value) -> Option<&Value> {
    object
        .pointer(spec_path(object)?)
        .filter(|spec| spec.is_object())
}

/// The namespace of an object.
pub(crate) fn namespace_of(object: &Value) -> &str {
    match text(object, "/metadata/namespace") {
        "" => "default",
        name => name,
    }
}

/// The controller of an object, in its metadata.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    let mut owners = list(object, "/metadata/ownerReferences").iter();
    owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}

/// The CREATE request that the API server would send for an object with a Pod spec.
pub(crate) fn create_request(object: &Value) -> Value {
    let (group, version) = group_and_version(object);
    let kind = text(object, "/kind");
    let names = json!({"group": group, "version": version, "kind": kind});
    let resource = format!("{}s", kind.to_lowercase());
    let resource = json!({"group": group, "version": version, "resource": resource});
    let node = text(object, "/spec/nodeName");
    let mirror = object.pointer("/metadata/annotations/kubernetes.io~1config.mirror");
    // A kubelet creates the mirror Pods of its node.
    let user = if mirror.is_some() && !node.is_empty() {
        json!({"username": format!("system:node:{node}"), "groups": ["system:nodes"]})
    } else {
        json!({"username": "kubernetes-admin", "groups": ["system:masters"]})
    };
    json!({
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": names,
        "resource": resource,
        "requestKind": names,
        "requestResource": resource,
        "name": text(object, "/metadata/name"),
        "namespace": namespace_of(object),
        "operation": "CREATE",
        "userInfo": user,
        "object": object,
        "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    })
}

/// A container or an image volume of a Pod spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its list in the Pod spec.
    pub list: &'static str,
    /// Its name.
    pub name: String,
    /// Its image, as it is written.
    pub image: String,
    /// Its pull policy, as it is written. Empty if it isn't set.
    pub pull_policy: String,
    /// Whether it is a native sidecar.
    pub is_sidecar: bool,
    /// The names of the volumes that it mounts.
    #[serde(skip)]
    pub(crate) mounts: Vec<String>,
    /// Whether its program is in one of them, so that this policy can copy an image check.
    #[serde(skip)]
    pub(crate) runs_a_mount: bool,
}

/// The lists of a Pod spec with images: the paths of the image and of the pull policy in an element.
const LISTS: [(&str, &str, &str); 4] = [
    ("initContainers", "/image", "/imagePullPolicy"),
    ("containers", "/image", "/imagePullPolicy"),
    ("ephemeralContainers", "/image", "/imagePullPolicy"),
    ("volumes", "/image/reference", "/image/pullPolicy"),
];

/// The containers and image volumes of an object's Pod spec: init containers first, then app
/// containers, ephemeral containers and volumes.
pub(crate) fn entries(object: &Value) -> Vec<Entry> {
    let spec = pod_spec(object).unwrap_or(&Value::Null);
    let of_list = |(name, image, pull_policy): (&'static str, &str, &str)| {
        let entries = spec
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let entries = entries.filter(|value| name != "volumes" || value.get("image").is_some());
        let entry = |value| Entry {
            list: name,
            name: text(value, "/name").to_owned(),
            image: text(value, image).to_owned(),
            pull_policy: text(value, pull_policy).to_owned(),
            is_sidecar: name == "initContainers" && text(value, "/restartPolicy") == "Always",
            runs_a_mount: runs_a_mount(value),
            mounts: list(value, "/volumeMounts")
                .iter()
                .map(|mount| text(mount, "/name").to_owned())
                .collect(),
        };
        entries.map(entry).collect::<Vec<_>>()
    };
    LISTS.into_iter().flat_map(of_list).collect()
}

fn runs_a_mount(container: &Value) -> bool {
    let program = text(container, "/command/0");
    list(container, "/volumeMounts").iter().any(|mount| {
        let path = text(mount, "/mountPath").trim_end_matches('/');
        let inside = program.strip_prefix(path);
        !path.is_empty() && inside.is_some_and(|inside| inside.starts_with('/'))
    })
}

/// The entries, as a kubelet sees them.
pub(crate) fn places(entries: &[Entry]) -> Vec<Place> {
    let place = |entry: &Entry| {
        let volumes = entries
            .iter()
            .enumerate()
            .filter(|(_, volume)| volume.list == "volumes" && entry.mounts.contains(&volume.name));
        let volumes = volumes.map(|(index, _)| index).collect();
        Place {
            image: on_node(&entry.image),
            pull_policy: match &*entry.pull_policy {
                "Always" => PullPolicy::Always,
                "Never" => PullPolicy::Never,
                _ => PullPolicy::IfNotPresent,
            },
            role: match entry.list {
                "initContainers" => Role::Init(volumes),
                "containers" => Role::App(volumes),
                _ => Role::Other,
            },
        }
    };
    entries.iter().map(place).collect()
}

/// The name under which a node keeps an image: as it is written, with `:latest` if it has neither a
/// tag nor a digest.
pub(crate) fn on_node(image: &str) -> String {
    if has_tag(image) || image.contains('@') {
        image.to_owned()
    } else {
        format!("{image}:latest")
    }
}

/// The name of an image in its registry: without the digest if there is a tag. So it is the same
/// before and after this policy has pinned the image.
pub(crate) fn in_registry(image: &str) -> String {
    let name = image.split('@').next().unwrap_or_default();
    on_node(if has_tag(name) { name } else { image })
}

/// Whether a name has a tag. The colon of a port comes before a slash.
fn has_tag(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_some_and(|last| last.contains(':'))
}

/// Writes the server defaults into an object: the pull policies that aren't set. As observed on
/// kube-apiserver 1.36, `""` and `null` count as not set.
pub(crate) fn set_defaults(object: &mut Value, default: &mut dyn FnMut(&str) -> &'static str) {
    let spec = spec_path(object).and_then(|path| object.pointer_mut(path));
    let Some(spec) = spec else {
        return;
    };
    for (name, image, pull_policy) in LISTS {
        let entries = spec.get_mut(name).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            if text(entry, pull_policy).is_empty() {
                let default = default(text(entry, image));
                let (holder, key) = pull_policy.rsplit_once('/').unwrap_or_default();
                let holder = entry.pointer_mut(holder).and_then(Value::as_object_mut);
                if let Some(holder) = holder {
                    holder.insert(key.to_owned(), default.into());
                }
            }
        }
    }
}
