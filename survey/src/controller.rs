//! Makes the first Pod of a workload, as Kubernetes' own controllers do, as far as this policy and
//! selectors read it.
//!
//! Sources: kubernetes/pkg/controller, `GetPodFromTemplate` in `controller_utils.go`, and the
//! folders job, cronjob, deployment, replicaset, replication, statefulset and daemon. A test
//! compares the Pods with captured requests. Names that a cluster would generate are invented, and
//! so are the values of labels.

use serde_json::{Value, json};

use crate::json::{list, text};
use crate::object::{pod_spec, template_path};

/// The API server writes these labels into a Job's template only after the mutating webhooks.
const OF_JOB: &[&str] = &[
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
];
const OF_STATEFUL_SET: &[&str] = &[
    "apps.kubernetes.io/pod-index",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
];

/// The first Pod of a workload. `None` for an object that is no workload, and for a `PodTemplate`,
/// because no controller makes Pods from it.
pub fn first_pod(workload: &Value) -> Option<Value> {
    let name = match text(workload, "/metadata/name") {
        "" => "unnamed",
        name => name,
    };
    let kind = text(workload, "/kind");
    let has_own_selector = workload.pointer("/spec/manualSelector") == Some(&Value::Bool(true));
    let (version, owner, hash, labels) = match kind {
        // Its author writes its labels.
        "Job" if has_own_selector => ("batch/v1", kind, "", &[][..]),
        "Job" => ("batch/v1", kind, "", OF_JOB),
        "CronJob" => ("batch/v1", "Job", "-29919931", OF_JOB),
        "Deployment" => (
            "apps/v1",
            "ReplicaSet",
            "-6d4cf56db9",
            &["pod-template-hash"][..],
        ),
        "StatefulSet" => ("apps/v1", kind, "", OF_STATEFUL_SET),
        "DaemonSet" => (
            "apps/v1",
            kind,
            "",
            &["controller-revision-hash", "pod-template-generation"][..],
        ),
        "ReplicaSet" => ("apps/v1", kind, "", &[][..]),
        "ReplicationController" => ("v1", kind, "", &[][..]),
        _ => return None,
    };
    let name = format!("{name}{hash}");
    let template = workload.pointer(template_path(workload)?)?;
    let of_template = |key| template.get("metadata")?.get(key);
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": format!("{name}-"),
            "namespace": text(workload, "/metadata/namespace"),
            "annotations": of_template("annotations"),
            "labels": of_template("labels").unwrap_or(&json!({})),
            "ownerReferences": [{"apiVersion": version, "kind": owner, "name": name, "controller": true}],
        },
        "spec": pod_spec(workload)?,
    });
    // Without annotations in the template, the Pod has none.
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, value| !value.is_null());
    }
    let of_pod = pod.pointer_mut("/metadata/labels");
    if let Some(of_pod) = of_pod.and_then(Value::as_object_mut) {
        of_pod.extend(
            labels
                .iter()
                .map(|label| ((*label).to_owned(), name.as_str().into())),
        );
    }
    // The controller of a StatefulSet makes a volume of each claim template.
    let claims = list(workload, "/spec/volumeClaimTemplates");
    let spec = pod.get_mut("spec").filter(|_| !claims.is_empty());
    if let Some(spec) = spec.and_then(Value::as_object_mut) {
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            let names = claims.iter().map(|claim| text(claim, "/metadata/name"));
            volumes.extend(names.map(|name| json!({"name": name})));
        }
    }
    Some(pod)
}
