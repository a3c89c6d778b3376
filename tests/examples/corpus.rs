//! The corpus: the requests that create the Pods of `test_data/pods`, and the captured requests of
//! `test_data/reviews` that create a Pod or a Job.

use std::collections::BTreeSet;
use std::fs;

use consistent_pull_policy_promises::corpus::{create_request, fill_in_defaults, manifests};
use serde_json::{Value, json};

use super::files;

/// The requests of the corpus. To give each policy enough Pods, each Pod of `test_data/pods` has
/// the label of every-pod.yaml, and the label of a Job's Pod unless its `restartPolicy` is
/// `Always`.
pub(super) fn requests() -> Vec<Value> {
    let pods = manifests().into_iter().map(|(_, mut pod)| {
        fill_in_defaults(&mut pod);
        pod["metadata"]["labels"]["image-checks"] = json!("true");
        if pod["spec"]
            .get("restartPolicy")
            .is_some_and(|policy| policy != "Always")
        {
            pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] = json!("job");
        }
        create_request(&pod)
    });
    let reviews = files("test_data/reviews", "json").into_iter().map(|path| {
        let text = fs::read_to_string(path).expect("a review");
        let mut review: Value = serde_json::from_str(&text).expect("a review is JSON");
        review["request"].take()
    });
    let created = reviews.filter(|request| {
        // Audits name no user.
        request["operation"] == "CREATE"
            && ["Pod", "Job"].contains(&request["kind"]["kind"].as_str().expect("a kind"))
            && request["userInfo"]["username"].is_string()
    });
    let mut requests: Vec<Value> = pods.chain(created).collect();
    for request in &mut requests {
        // They are long, and nothing reads them.
        request["object"]["metadata"]["managedFields"].take();
    }
    assert!(requests.len() > 50, "{}", requests.len());
    requests
}

fn elements<'v>(spec: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> {
    spec[list].as_array().into_iter().flatten()
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    elements(spec, "initContainers").chain(elements(spec, "containers"))
}

/// The Pod spec of a Pod or a Job.
fn spec_of(object: &Value) -> &Value {
    object["spec"]
        .pointer("/template/spec")
        .unwrap_or(&object["spec"])
}

/// A node, with the images that it pulled.
pub(super) struct Node {
    /// The names by which it has them. It keeps what it pulled by digest under the digest alone.
    images: BTreeSet<String>,
}

impl Node {
    /// A node on which this object ran.
    pub(super) fn that_ran(object: &Value) -> Self {
        let spec = spec_of(object);
        let containers = containers(spec).map(|container| &container["image"]);
        let volumes = elements(spec, "volumes").map(|volume| &volume["image"]["reference"]);
        let images = containers.chain(volumes).filter_map(Value::as_str);
        Self {
            images: images.map(str::to_owned).collect(),
        }
    }

    /// Whether the node asks the registry of an image.
    fn asks(&self, image: &Value, pull_policy: &Value) -> bool {
        let Some(image) = image.as_str() else {
            return false;
        };
        pull_policy == "Always" || (pull_policy != "Never" && !self.images.contains(image))
    }

    /// Whether a Pod doesn't start completely while all registries are away. A reboot of the node
    /// starts init containers again, so it asks their registries again.
    pub(super) fn waits(&self, object: &Value) -> bool {
        let spec = spec_of(object);
        let mounts = || containers(spec).flat_map(|container| elements(container, "volumeMounts"));
        let is_mounted = |volume: &Value| mounts().any(|mount| mount["name"] == volume["name"]);
        let asks = |image: &Value| self.asks(&image["reference"], &image["pullPolicy"]);
        containers(spec)
            .any(|container| self.asks(&container["image"], &container["imagePullPolicy"]))
            || elements(spec, "volumes").any(|volume| asks(&volume["image"]) && is_mounted(volume))
    }
}

/// Whether a container may run an old image of its node because of a policy: its author wrote
/// `Always`, and now nothing in the Pod pulls this image with `Always`, or by its digest.
pub(super) fn may_run_an_old_image(before: &Value, after: &Value) -> bool {
    let containers = |object| containers(spec_of(object));
    let is_always = |container: &&Value| container["imagePullPolicy"] == "Always";
    containers(before).filter(is_always).any(|before| {
        let mut now = containers(after).filter(|container| container["name"] == before["name"]);
        let image = &now.next().expect("the container")["image"];
        let is_pinned = image.as_str().is_some_and(|image| image.contains('@'));
        !is_pinned && !containers(after).any(|c| c["image"] == *image && is_always(&c))
    })
}
