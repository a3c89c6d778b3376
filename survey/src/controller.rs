//! Makes the first Pod of a workload, as Kubernetes' own controllers do, as far as this policy and
//! selectors read it.
//!
//! Sources: kubernetes/pkg/controller, `GetPodFromTemplate` in `controller_utils.go`, and the
//! folders job, cronjob, deployment, replicaset, replication, statefulset and daemon. A test
//! compares the Pods with captured requests. Names that a cluster would generate are invented.

use serde_json::{Map, Value, json};

use crate::json::{at, list, object_mut, text};
use crate::object::Kind;

/// An invented hash. A cluster computes it from the pod template.
const HASH: &str = "6d4cf56db9";

/// The first Pod of a workload. `None` for an object that is no workload, and for a `PodTemplate`,
/// because no controller makes Pods from it.
pub fn first_pod(workload: &Value) -> Option<Value> {
    let kind = Kind::of(workload)?;
    let name = match text(workload, &["metadata", "name"]) {
        "" => "unnamed",
        name => name,
    };
    let spec = workload.get("spec")?;
    let pod = match kind.name {
        "Job" => job_pod(name, text(workload, &["metadata", "uid"]), spec),
        "CronJob" => job_pod(
            &format!("{name}-29919931"),
            "",
            at(spec, &["jobTemplate", "spec"])?,
        ),
        "Deployment" => {
            let mut pod = pod_of(spec, "ReplicaSet", &format!("{name}-{HASH}"));
            label(&mut pod, "pod-template-hash", HASH);
            pod
        }
        "StatefulSet" => stateful_set_pod(name, spec),
        "DaemonSet" => {
            let mut pod = pod_of(spec, kind.name, name);
            label(&mut pod, "controller-revision-hash", HASH);
            label(&mut pod, "pod-template-generation", "1");
            pod
        }
        "ReplicaSet" | "ReplicationController" => pod_of(spec, kind.name, name),
        _ => return None,
    };
    Some(with_namespace(
        pod,
        text(workload, &["metadata", "namespace"]),
    ))
}

/// A Pod with the labels, the annotations and the spec of the template, and with this controller.
fn pod_of(spec: &Value, kind: &str, name: &str) -> Value {
    let template = spec.get("template").unwrap_or(&Value::Null);
    let mut metadata = Map::new();
    for key in ["labels", "annotations"] {
        if let Some(value) = at(template, &["metadata", key]) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let version = match kind {
        "Job" => "batch/v1",
        "ReplicationController" => "v1",
        _ => "apps/v1",
    };
    metadata.insert("generateName".to_owned(), format!("{name}-").into());
    let owner = json!({"apiVersion": version, "kind": kind, "name": name, "controller": true});
    metadata.insert("ownerReferences".to_owned(), [owner].into_iter().collect());
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec")})
}

fn with_namespace(mut pod: Value, namespace: &str) -> Value {
    if let Some(metadata) = object_mut(&mut pod, &["metadata"]) {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    pod
}

fn label(pod: &mut Value, key: &str, value: &str) {
    if let Some(labels) = object_mut(pod, &["metadata", "labels"]) {
        labels.insert(key.to_owned(), value.into());
    }
}

fn job_pod(name: &str, uid: &str, spec: &Value) -> Value {
    let mut pod = pod_of(spec, "Job", name);
    // The API server writes these labels into a Job's template only after the mutating webhooks.
    if spec.get("manualSelector") != Some(&Value::Bool(true)) {
        for prefix in ["", "batch.kubernetes.io/"] {
            label(&mut pod, &format!("{prefix}controller-uid"), uid);
            label(&mut pod, &format!("{prefix}job-name"), name);
        }
    }
    if text(spec, &["completionMode"]) == "Indexed" {
        label(&mut pod, "batch.kubernetes.io/job-completion-index", "0");
    }
    pod
}

fn stateful_set_pod(name: &str, spec: &Value) -> Value {
    let mut pod = pod_of(spec, "StatefulSet", name);
    let ordinal = at(spec, &["ordinals", "start"]).and_then(Value::as_u64);
    let ordinal = ordinal.unwrap_or_default();
    label(
        &mut pod,
        "apps.kubernetes.io/pod-index",
        &ordinal.to_string(),
    );
    label(
        &mut pod,
        "controller-revision-hash",
        &format!("{name}-{HASH}"),
    );
    label(
        &mut pod,
        "statefulset.kubernetes.io/pod-name",
        &format!("{name}-{ordinal}"),
    );
    let claims = list(spec, &["volumeClaimTemplates"]).iter();
    let claims: Vec<&str> = claims
        .map(|claim| text(claim, &["metadata", "name"]))
        .collect();
    let others = list(&pod, &["spec", "volumes"]).iter();
    let others = others.filter(|volume| !claims.contains(&text(volume, &["name"])));
    let volumes = claims.iter().map(|claim| json!({"name": claim}));
    let volumes: Value = volumes.chain(others.cloned()).collect();
    if let Some(spec) = object_mut(&mut pod, &["spec"]).filter(|_| !claims.is_empty()) {
        spec.insert("volumes".to_owned(), volumes);
    }
    pod
}
