//! The rule *disallowed-policy*: the settings `images.requireAlways`, `images.forbidAlways` and
//! `images.forbidNever`.

use crate::common::{
    container, digest, pod_create, registry_with_answers, validate, validate_with,
};
use serde_json::json;

/// The default raises the container to `Always`, and *pull-once* lowers it to `IfNotPresent`. There must
/// be exactly one finding in each mode, about the forbidden `Never`.
#[test]
fn a_forbidden_never_is_a_finding_even_if_pull_once_changes_the_same_container() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "a:1", "Always")],
        "containers": [container("a", "a:1", "Never")],
    }));
    let defaults = json!({"imagePullPolicy": "Always"});
    for mode in ["Reject", "Warn", "Fix"] {
        let settings =
            json!({"mode": mode, "defaults": defaults, "images": {"forbidNever": ["a"]}});
        let answer = validate(&pod, &settings);
        assert_eq!(answer.accepted(), mode != "Reject", "{mode}");
        let findings = answer.audited("findings");
        assert_eq!(findings.len(), 1, "{mode}");
        assert_eq!(findings[0]["rule"], "disallowed-policy", "{mode}");
        assert_eq!(findings[0]["expected"], "IfNotPresent", "{mode}");
    }
}

/// In the first run, *pull-once* lowers the container. In the second run, with `mode: Reject`, the default
/// would set the forbidden `Never` on the check. But the lookup shows that the check and the container have
/// the same image. A default doesn't weaken the check of a container that *pull-once* has lowered, so the
/// Pod must be accepted.
#[test]
fn a_forbidden_default_does_not_reject_before_the_lookup_that_makes_it_irrelevant() {
    let check = format!("app:latest@{}", digest(1));
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "imagecheck-0", "image": check, "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": "app:v1", "imagePullPolicy": "Always"}],
    }));
    let mut settings = json!({
        "defaults": {"imageCheckPullPolicy": "Never"},
        "images": {"forbidNever": ["app:latest"]},
        "registry": {"lookup": "Verify", "images": ["app:v1"]},
    });
    let mut registry = registry_with_answers(&[("docker.io/library/app:v1", Ok(digest(1)))]);
    let first = validate_with(&request, &settings, &mut registry);
    request["object"] = first.mutated().expect("pull-once").clone();
    settings["mode"] = json!("Reject");
    let second = validate_with(&request, &settings, &mut registry);
    assert!(second.accepted(), "{}", second.message());
}
