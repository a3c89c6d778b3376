//! Kubernetes objects with a Pod spec: their kinds, the requests that create them, and the server
//! defaults.

use serde::Serialize;
use serde_json::{Value, json};

use crate::json::{at, list, text};
use crate::kubelet::{Place, PullPolicy, Role};

/// A kind of objects with a Pod spec.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) resource: &'static str,
    /// The path of the Pod spec.
    pub(crate) spec: &'static [&'static str],
}

const TEMPLATE: &[&str] = &["spec", "template", "spec"];

const fn kind(
    name: &'static str,
    group: &'static str,
    resource: &'static str,
    spec: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        group,
        resource,
        spec,
    }
}

const KINDS: [Kind; 9] = [
    kind("Pod", "", "pods", &["spec"]),
    kind("PodTemplate", "", "podtemplates", &["template", "spec"]),
    kind(
        "ReplicationController",
        "",
        "replicationcontrollers",
        TEMPLATE,
    ),
    kind("Deployment", "apps", "deployments", TEMPLATE),
    kind("StatefulSet", "apps", "statefulsets", TEMPLATE),
    kind("DaemonSet", "apps", "daemonsets", TEMPLATE),
    kind("ReplicaSet", "apps", "replicasets", TEMPLATE),
    kind("Job", "batch", "jobs", TEMPLATE),
    kind(
        "CronJob",
        "batch",
        "cronjobs",
        &["spec", "jobTemplate", "spec", "template", "spec"],
    ),
];

/// The group and the version in the `apiVersion` of an object.
fn group_and_version(object: &Value) -> (&str, &str) {
    let version = text(object, &["apiVersion"]);
    version.split_once('/').unwrap_or(("", version))
}

impl Kind {
    /// The kind of an object. `None` if it has no Pod spec. Several groups can share a kind's name.
    pub(crate) fn of(object: &Value) -> Option<&'static Self> {
        let (group, _) = group_and_version(object);
        let name = text(object, &["kind"]);
        KINDS
            .iter()
            .find(|kind| kind.name == name && kind.group == group)
    }

    /// Whether Kubernetes itself has a kind with this name.
    pub(crate) fn is_known(name: &str) -> bool {
        KINDS.iter().any(|kind| kind.name == name)
    }
}

/// The Pod spec of an object.
pub(crate) fn pod_spec(object: &Value) -> Option<&Value> {
    at(object, Kind::of(object)?.spec).filter(|spec| spec.is_object())
}

/// The controller of an object, in its metadata.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    let mut owners = list(object, &["metadata", "ownerReferences"]).iter();
    owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}

/// The CREATE request that the API server would send for an object. `None` if its kind has no Pod
/// spec.
pub(crate) fn create_request(object: &Value) -> Option<Value> {
    let kind = Kind::of(object)?;
    let (group, version) = group_and_version(object);
    let namespace = match text(object, &["metadata", "namespace"]) {
        "" => "default",
        name => name,
    };
    let names = json!({"group": group, "version": version, "kind": kind.name});
    let resource = json!({"group": group, "version": version, "resource": kind.resource});
    let node = text(object, &["spec", "nodeName"]);
    let is_mirror = at(
        object,
        &["metadata", "annotations", "kubernetes.io/config.mirror"],
    )
    .is_some();
    // A kubelet creates the mirror Pods of its node.
    let user = if is_mirror && !node.is_empty() {
        json!({"username": format!("system:node:{node}"), "groups": ["system:nodes"]})
    } else {
        json!({"username": "kubernetes-admin", "groups": ["system:masters"]})
    };
    Some(json!({
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": names,
        "resource": resource,
        "requestKind": names,
        "requestResource": resource,
        "name": text(object, &["metadata", "name"]),
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": user,
        "object": object,
        "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }))
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

const LISTS: [&str; 4] = [
    "initContainers",
    "containers",
    "ephemeralContainers",
    "volumes",
];

/// The containers and image volumes of a Pod spec: init containers first, then app containers,
/// ephemeral containers and volumes.
pub(crate) fn entries(spec: &Value) -> Vec<Entry> {
    let of_list = |name: &'static str| {
        list(spec, &[name]).iter().filter_map(move |value| {
            let is_volume = name == "volumes";
            let (holder, image, pull_policy) = if is_volume {
                (value.get("image")?, "reference", "pullPolicy")
            } else {
                (value, "image", "imagePullPolicy")
            };
            let mounts = list(value, &["volumeMounts"]);
            let program = list(value, &["command"]).first().and_then(Value::as_str);
            let has_program = |mount: &Value| {
                let path = text(mount, &["mountPath"]).trim_end_matches('/');
                let inside = program.and_then(|program| program.strip_prefix(path));
                !path.is_empty() && inside.is_some_and(|inside| inside.starts_with('/'))
            };
            Some(Entry {
                list: name,
                name: text(value, &["name"]).to_owned(),
                image: text(holder, &[image]).to_owned(),
                pull_policy: text(holder, &[pull_policy]).to_owned(),
                is_sidecar: name == "initContainers" && text(value, &["restartPolicy"]) == "Always",
                runs_a_mount: mounts.iter().any(has_program),
                mounts: mounts
                    .iter()
                    .map(|mount| text(mount, &["name"]).to_owned())
                    .collect(),
            })
        })
    };
    LISTS.into_iter().flat_map(of_list).collect()
}

/// The entries, as a kubelet sees them.
pub(crate) fn places(entries: &[Entry]) -> Vec<Place> {
    let place = |entry: &Entry| {
        let is_mounted =
            |volume: &Entry| volume.list == "volumes" && entry.mounts.contains(&volume.name);
        let volumes = entries.iter().enumerate();
        let volumes = volumes
            .filter(|(_, volume)| is_mounted(volume))
            .map(|(index, _)| index);
        Place {
            image: on_node(&entry.image),
            pull_policy: match &*entry.pull_policy {
                "Always" => PullPolicy::Always,
                "Never" => PullPolicy::Never,
                _ => PullPolicy::IfNotPresent,
            },
            role: match entry.list {
                "initContainers" => Role::Init(volumes.collect()),
                "containers" => Role::App(volumes.collect()),
                _ => Role::Other,
            },
        }
    };
    entries.iter().map(place).collect()
}

/// The name under which a node keeps an image: as it is written, with `:latest` if it has neither a
/// tag nor a digest.
pub(crate) fn on_node(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) {
        image.to_owned()
    } else {
        format!("{image}:latest")
    }
}

/// The name of an image in its registry: without the digest if there is a tag. So it is the same
/// before and after this policy has pinned the image.
pub(crate) fn in_registry(image: &str) -> String {
    let image = on_node(image);
    match image.split_once('@') {
        Some((tag, _))
            if tag
                .rsplit('/')
                .next()
                .is_some_and(|last| last.contains(':')) =>
        {
            tag.to_owned()
        }
        _ => image,
    }
}

/// Writes the server defaults into an object: the pull policies that aren't set. As observed on
/// kube-apiserver 1.36, `""` and `null` count as not set.
pub(crate) fn set_defaults(object: &mut Value, default: &mut dyn FnMut(&str) -> &'static str) {
    let Some(kind) = Kind::of(object) else {
        return;
    };
    let spec = kind
        .spec
        .iter()
        .try_fold(object, |value, key| value.get_mut(key));
    let Some(spec) = spec else {
        return;
    };
    for name in LISTS {
        let entries = spec.get_mut(name).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            let (holder, image, key) = if name == "volumes" {
                (entry.get_mut("image"), "reference", "pullPolicy")
            } else {
                (Some(entry), "image", "imagePullPolicy")
            };
            let Some(holder) = holder.and_then(Value::as_object_mut) else {
                continue;
            };
            let is_set = |value: &Value| !value.is_null() && value != "";
            if !holder.get(key).is_some_and(is_set) {
                let image = holder
                    .get(image)
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let policy = default(image);
                holder.insert(key.to_owned(), policy.into());
            }
        }
    }
}
