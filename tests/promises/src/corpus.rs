//! The corpus, in `test_data/pods/`: Pods like those that well-known controllers and tools create,
//! and some Pods like those that a person writes.
//!
//! We wrote these Pods, and invented their names and images. If a Pod is like that of a controller
//! or tool, its file has comments. They name the sources of the values that matter for the rules:
//! files, and often lines, of the controller or tool. The admission reviews of agent-stack-k8s 0.47
//! in `test_data/reviews/` belong to the corpus too. These reviews were captured from real
//! requests.

use serde_json::{Value, json};

use crate::image::PullPolicy;
use crate::json::{elements_mut, text};
use crate::repository::{all_captured, documents, files};

/// The requests of the corpus: those that create the Pods, with the API server's defaults, and the
/// captured ones that create a Pod or a Job. To give the preset jobs enough Pods, each Pod has the
/// label of a Job's Pod, unless its `restartPolicy` is `Always`.
///
/// # Panics
/// If a file can't be read.
#[must_use]
pub fn requests() -> Vec<(String, Value)> {
    let pods = files("test_data/pods", ".yaml").into_iter();
    let pods = pods.map(|(name, text)| {
        let mut pod = documents(&text).remove(0);
        fill_in_defaults(&mut pod);
        let policy = pod["spec"].get("restartPolicy");
        if policy.is_some_and(|policy| policy != "Always") {
            pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] = json!("job");
        }
        (name, create_request(&pod))
    });
    let created = all_captured().into_iter().filter(|(_, request)| {
        // Audits name no user.
        request["operation"] == "CREATE"
            && ["Pod", "Job"].contains(&text(&request["kind"]["kind"]))
            && request["userInfo"]["username"].is_string()
    });
    let mut requests: Vec<_> = pods.chain(created).collect();
    for (_, request) in &mut requests {
        // They are long, and nothing reads them.
        request["object"]["metadata"]["managedFields"].take();
    }
    assert!(requests.len() > 50, "{}", requests.len());
    requests
}

/// Returns the request that creates a Pod. The user of a mirror Pod is a node.
pub(crate) fn create_request(pod: &Value) -> Value {
    let metadata = &pod["metadata"];
    let annotations = &metadata["annotations"];
    let is_mirror = annotations.get("kubernetes.io/config.mirror").is_some();
    let group = if is_mirror {
        "system:nodes"
    } else {
        "system:authenticated"
    };
    json!({
        "uid": "00000000-0000-4000-8000-000000000001",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": metadata["namespace"].as_str().unwrap_or("default"),
        "name": text(&metadata["name"]),
        "userInfo": {"username": "jane", "groups": [group]},
        "object": pod,
    })
}

/// Writes the pull policies that the API server writes before it calls any webhook.
fn fill_in_defaults(pod: &mut Value) {
    let fill_in = |holder: &mut Value, image: &str, pull_policy: &str| {
        if text(&holder[pull_policy]).is_empty() {
            holder[pull_policy] = PullPolicy::server_default(text(&holder[image]))
                .name()
                .into();
        }
    };
    let spec = &mut pod["spec"];
    for list in ["containers", "initContainers"] {
        elements_mut(spec, list).for_each(|one| fill_in(one, "image", "imagePullPolicy"));
    }
    let volumes = elements_mut(spec, "volumes").filter_map(|volume| volume.get_mut("image"));
    volumes.for_each(|source| fill_in(source, "reference", "pullPolicy"));
}
