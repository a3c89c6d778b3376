//! A weak check that can't be raised; the rest of the rule is in the end-to-end tests.

mod common;

use common::{pod_create, validate};
use serde_json::json;

/// With a digest two tags are one image, and a pattern can name one of them.
#[test]
fn a_check_that_may_not_be_raised_says_so() {
    let digest = common::digest(1);
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

/// What is raised for containers that write the image as their checks do may be strong enough for
/// those that write it otherwise: one check more would be pulled for nothing.
#[test]
fn a_check_that_is_raised_for_its_own_spelling_serves_the_others() {
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
