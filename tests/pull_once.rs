//! The rule *pull-once*: an app container that mounts a check volume itself.

use crate::common::{container, pod_create, validate};
use serde_json::json;

/// The node pulls the check volume once more when it starts `a`. So `IfNotPresent` would not protect
/// `a` from a registry that fails after the first pull.
#[test]
fn an_app_container_that_mounts_the_check_volume_of_its_image_keeps_always() {
    let mounts = json!([{"name": "imagecheck-0", "mountPath": "/c"}]);
    let request = pod_create(&json!({
        "initContainers": [{"name": "i", "image": "i:1", "imagePullPolicy": "IfNotPresent", "volumeMounts": mounts}],
        "containers": [
            {"name": "a", "image": "app:1", "imagePullPolicy": "Always", "volumeMounts": mounts},
            container("b", "app:1", "Always"),
        ],
        "volumes": [{"name": "imagecheck-0", "image": {"reference": "app:1", "pullPolicy": "Always"}}],
    }));
    let answer = validate(&request, &json!({}));
    let containers = &answer.mutated().expect("a change")["spec"]["containers"];
    assert_eq!(containers[0]["imagePullPolicy"], "Always");
    assert_eq!(containers[1]["imagePullPolicy"], "IfNotPresent");
}
