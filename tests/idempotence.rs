//! This policy is idempotent: a second run changes nothing in the object that the first run returned.

use crate::common::{
    FakeRegistry, container, digest, pod_create, registry_with_answers, unreachable_registry,
    validate, validate_with,
};
use serde_json::json;

/// A pinned check no longer pulls with `Always`. So the container's `IfNotPresent` doesn't count as
/// written by *pull-once*, and the default applies in the first run.
#[test]
fn no_default_is_left_for_the_second_run_after_a_pin() {
    let by_digest = format!("app@{}", digest(1));
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "imagecheck-0", "image": "app:v2", "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": by_digest, "imagePullPolicy": "IfNotPresent"}],
    }));
    let settings = json!({
        "defaults": {"imagePullPolicy": "Never"},
        "registry": {"lookup": "Pin", "images": ["*:v?"]},
    });
    let registry = registry_with_answers(&[("docker.io/library/app:v2", Ok(digest(1)))]);
    let first = validate_with(&request, &settings, &mut registry.clone());
    request["object"] = first.mutated().expect("a pin").clone();
    let second = validate_with(&request, &settings, &mut registry.clone());
    assert_eq!(second.mutated(), None);
}

/// In a Pod without image checks, *pull-once* does not lower a container that the default has
/// raised. So the default applies in the first run.
#[test]
fn no_default_is_left_for_the_second_run_after_a_container_was_raised() {
    let image = |tag: &str| format!("app:{tag}@{}", digest(1));
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "setup", "image": image("latest"), "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": image("v2"), "imagePullPolicy": "IfNotPresent"}],
    }));
    let settings = json!({
        "defaults": {"imagePullPolicy": "Always"},
        "registry": {"lookup": "Pin", "images": ["app:latest"]},
    });
    let first = validate_with(&request, &settings, &mut FakeRegistry::default());
    request["object"] = first.mutated().expect("a default").clone();
    let second = validate_with(&request, &settings, &mut FakeRegistry::default());
    assert_eq!(second.mutated(), None);
}

/// *pull-once* doesn't lower a container that `requireAlways` names. So the `Always` of the init
/// container need not be protected from the default.
#[test]
fn reject_accepts_a_container_that_require_always_has_raised() {
    let settings = json!({
        "defaults": {"imagePullPolicy": "AlwaysUnlessDigest"},
        "images": {"requireAlways": ["app:v*"]},
    });
    let image = |tag: &str| format!("app:{tag}@{}", digest(1));
    let request = pod_create(&json!({
        "initContainers": [
            container("setup", &image("latest"), "Always"),
            container("imagecheck-0", "other:1", "IfNotPresent"),
        ],
        "containers": [container("app", &image("v2"), "IfNotPresent")],
    }));
    let fixed = validate(&request, &settings);
    let mut again = request.clone();
    again["object"] = fixed.mutated().expect("a repair").clone();
    let mut reject = settings.clone();
    reject["mode"] = json!("Reject");
    let answer = validate(&again, &reject);
    assert!(answer.accepted(), "{}", answer.message());
}

/// During an outage of the registry, `Pin` can't pin the check. So the check keeps `Always`, and a node
/// still asks the registry.
#[test]
fn an_outage_changes_nothing_in_a_pod_that_pull_once_has_changed() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "a:latest", "Always")],
        "containers": [container("a", "a:latest", "IfNotPresent")],
    }));
    let settings = json!({
        "defaults": {"imageCheckPullPolicy": "IfNotPresent"},
        "registry": {"images": ["*"], "lookup": "Pin", "onUnreachable": "KeepTag"},
    });
    let answer = validate_with(&pod, &settings, &mut unreachable_registry());
    assert!(answer.accepted());
    assert_eq!(answer.mutated(), None);
}
