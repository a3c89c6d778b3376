//! Drops what neither this policy nor the survey reads of a Pod or of a workload: most of its size,
//! and what could be secret.

use serde_json::Value;

use crate::object::template_path;

/// Names of owners and labels choose what a policy selects.
const METADATA: [&str; 7] = [
    "annotations",
    "deletionTimestamp",
    "generateName",
    "labels",
    "name",
    "namespace",
    "ownerReferences",
];
/// Of the annotations, those that this policy reads, by their prefixes.
const ANNOTATIONS: [&str; 3] = [
    "consistent-pull-policy/",
    "container.apparmor.security.beta.kubernetes.io/",
    "kubernetes.io/config.mirror",
];
const SPEC: [&str; 11] = [
    "containers",
    "ephemeralContainers",
    "hostUsers",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "os",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "volumes",
];
/// Of app containers and ephemeral containers, whose programs don't matter.
const CONTAINER: [&str; 6] = [
    "image",
    "imagePullPolicy",
    "name",
    "restartPolicy",
    "volumeDevices",
    "volumeMounts",
];
const VOLUME: [&str; 2] = ["name", "image"];

/// Drops what nobody reads of an object with a Pod spec.
pub(crate) fn prune(object: &mut Value) {
    let Some(template) = template_path(object) else {
        return;
    };
    for path in ["/metadata", &format!("{template}/metadata")] {
        keep(object.pointer_mut(path), |key| METADATA.contains(&key));
        let annotations = object.pointer_mut(&format!("{path}/annotations"));
        keep(annotations, |key| {
            ANNOTATIONS.iter().any(|prefix| key.starts_with(prefix))
        });
    }
    let spec = object.pointer_mut(&format!("{template}/spec"));
    let Some(spec) = spec.and_then(Value::as_object_mut) else {
        return;
    };
    spec.retain(|key, _| SPEC.contains(&&**key));
    for (list, kept) in [
        ("containers", &CONTAINER[..]),
        ("ephemeralContainers", &CONTAINER),
        ("volumes", &VOLUME),
    ] {
        let entries = spec.get_mut(list).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            keep(Some(entry), |key| kept.contains(&key));
        }
    }
    keep(Some(object), |key| key != "status");
}

fn keep(object: Option<&mut Value>, is_kept: impl Fn(&str) -> bool) {
    if let Some(members) = object.and_then(Value::as_object_mut) {
        members.retain(|key, _| is_kept(key));
    }
}
