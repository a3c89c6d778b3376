//! The rule *weak-check*: a check with a weaker pull policy than its container is raised.

use crate::common::{digest, pod_create, validate};
use serde_json::json;

/// Two tags with one digest are the same image, but a pattern can name only one of the tags.
#[test]
fn a_check_that_forbid_always_names_is_not_raised() {
    let digest = digest(1);
    let pod = pod_create(&json!({
        "initContainers": [
            {"name": "imagecheck-0", "image": format!("a:1@{digest}"), "imagePullPolicy": "Always"},
        ],
        "containers": [{"name": "a", "image": format!("a:2@{digest}"), "imagePullPolicy": "Always"}],
    }));
    let answer = validate(&pod, &json!({"images": {"forbidAlways": ["a:1"]}}));
    assert!(!answer.accepted());
    assert_eq!(
        answer.message(),
        format!(
            "imagecheck-0 may not pull a:1@{digest} with Always (images.forbidAlways), but a does: \
             set a to IfNotPresent"
        )
    );
}

/// `imagecheck-1` is raised for `a`, because their images are written alike. The raised check is strong
/// enough for `b` too, so `imagecheck-0` is not raised.
#[test]
fn one_raised_check_serves_containers_of_every_spelling() {
    let pod = pod_create(&json!({
        "initContainers": [
            {"name": "imagecheck-0", "image": "library/a:1", "imagePullPolicy": "IfNotPresent"},
            {"name": "imagecheck-1", "image": "docker.io/library/a:1", "imagePullPolicy": "IfNotPresent"},
        ],
        "containers": [
            {"name": "a", "image": "docker.io/library/a:1", "imagePullPolicy": "Always"},
            {"name": "b", "image": "a:1", "imagePullPolicy": "Always"},
        ],
    }));
    let answer = validate(&pod, &json!({"pullOnce": false}));
    let object = answer.mutated().expect("a change");
    let checks = &object["spec"]["initContainers"];
    assert_eq!(checks[0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(checks[1]["imagePullPolicy"], "Always");
}
