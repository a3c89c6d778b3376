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

/// One Pod or workload of the corpus.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name of the sample's file, without its extension.
    pub file: String,
    /// The admission request that creates the object, in the form that a webhook gets.
    pub request: Value,
}

/// Returns the name and the Pod of each file in `test_data/pods/`. The API server's defaults are
/// not filled in.
///
/// # Panics
/// If a file can't be read.
#[must_use]
pub fn manifests() -> Vec<(String, Value)> {
    let files = files("test_data/pods", ".yaml").into_iter();
    files
        .map(|(name, text)| (name, documents(&text).remove(0)))
        .collect()
}

/// Returns the whole corpus: the Pods of `test_data/pods/`, and the captured reviews of
/// agent-stack-k8s.
///
/// # Panics
/// If a file can't be read.
#[must_use]
pub fn samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> = manifests()
        .into_iter()
        .map(|(file, mut pod)| {
            fill_in_defaults(&mut pod);
            let request = create_request(&pod);
            Sample { file, request }
        })
        .collect();
    let reviews = all_captured().into_iter();
    let of_agent_stack = reviews.filter(|(name, _)| name.starts_with("agent-stack-0.47-"));
    samples.extend(of_agent_stack.map(|(file, request)| Sample { file, request }));
    samples
}

/// Returns the settings of each policy in `examples/`, with the name of the file.
///
/// # Panics
/// If a file can't be read.
#[must_use]
pub fn examples() -> Vec<(String, Value)> {
    let mut examples = Vec::new();
    for (name, text) in files("examples", ".yaml") {
        for document in documents(&text) {
            let settings = &document["spec"]["settings"];
            if settings.is_object() {
                examples.push((name.clone(), settings.clone()));
            }
        }
    }
    examples
}

/// Returns the request that creates a Pod. The user of the request is the kubelet of a node for a
/// mirror Pod, a service account for a Pod with owner references, and a person for any other Pod.
#[must_use]
pub fn create_request(pod: &Value) -> Value {
    let metadata = &pod["metadata"];
    let is_mirror = metadata["annotations"]
        .get("kubernetes.io/config.mirror")
        .is_some();
    let user = if is_mirror {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        json!({"username": format!("system:node:{node}"), "groups": ["system:nodes"]})
    } else if metadata["ownerReferences"].is_array() {
        json!({"username": "system:serviceaccount:ci:controller", "groups": ["system:serviceaccounts"]})
    } else {
        json!({"username": "jane", "groups": ["system:authenticated"]})
    };
    json!({
        "uid": "00000000-0000-4000-8000-000000000001",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": metadata["namespace"].as_str().unwrap_or("default"),
        "name": text(&metadata["name"]),
        "userInfo": user,
        "object": pod,
    })
}

/// Writes the pull policies that the API server writes before it calls any webhook.
pub fn fill_in_defaults(pod: &mut Value) {
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
