//! The rule *stuck-pull*: its sentence names a check that passed. The tests that compare this
//! policy with the specification don't read sentences, so this file tests the sentence.

use crate::common::{captured, pod_create, validate};
use serde_json::{Value, json};

#[test]
fn a_waiting_container_is_found_with_the_check_that_passed() {
    let request = captured("audit-pod-stuck-after-check");
    let answer = validate(&request, &json!({"mode": "Reject"}));
    assert!(!answer.accepted());
    let start = "container-0 waits for 127.0.0.1:5000/my-app:v1 (ImagePullBackOff since \
                2026-11-21T09:06:17Z) although imagecheck-0 passed with IfNotPresent: the registry \
                no longer has it or can't be reached; set imagecheck-0 to Always";
    assert!(answer.message().starts_with(start), "{}", answer.message());
    let finding = &answer.audited("findings");
    let finding = finding
        .iter()
        .find(|finding| finding["rule"] == "stuck-pull")
        .expect("a finding");
    assert_eq!(
        finding["path"],
        "status.containerStatuses[1].state.waiting.reason"
    );
    assert_eq!(finding["container"], "container-0");
    assert_eq!(finding["found"], "ImagePullBackOff");

    let answer = validate(&request, &json!({"mode": "Warn"}));
    assert!(answer.accepted());
    assert!(answer.warnings()[0].chars().count() <= 120);
    assert!(answer.warnings()[0].contains("set imagecheck-0 to Always"));
}

/// An init container has passed if it ended without an error. A check volume has passed if the
/// first container that mounts it has started, because the node pulls the volume before that.
#[test]
fn a_check_has_passed_if_its_image_was_pulled() {
    let status_with = |state: &Value| {
        json!({
            "initContainerStatuses": [{"name": "first", "state": state}],
            "containerStatuses": [
                {"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
            ],
        })
    };
    let by_container = json!({
        "initContainers": [{"name": "first", "image": "a:1", "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": "a:1", "imagePullPolicy": "IfNotPresent"}],
    });
    let mut by_volume = by_container.clone();
    by_volume["volumes"] =
        json!([{"name": "first-v", "image": {"reference": "a:1", "pullPolicy": "Always"}}]);
    by_volume["initContainers"][0] = json!({
        "name": "first",
        "image": "setup:1",
        "imagePullPolicy": "IfNotPresent",
        "volumeMounts": [{"name": "first-v", "mountPath": "/c"}],
    });
    for (state, container_passed, volume_passed) in [
        (json!({"running": {}}), false, true),
        (json!({"terminated": {"exitCode": 0}}), true, true),
        (json!({"terminated": {"exitCode": 1}}), false, true),
        (
            json!({"waiting": {"reason": "PodInitializing"}}),
            false,
            false,
        ),
    ] {
        for (spec, passed) in [
            (&by_container, container_passed),
            (&by_volume, volume_passed),
        ] {
            let mut request = pod_create(spec);
            request["object"]["status"] = status_with(&state);
            let settings = json!({"mode": "Reject", "imageChecks": {"coverage": "Off", "namePrefixes": ["first"]}});
            let answer = validate(&request, &settings);
            assert!(!answer.accepted());
            let message = answer.message();
            assert_eq!(
                message.contains("passed with Always"),
                passed,
                "{state}: {message}"
            );
        }
    }
}

/// Only the sentence about an app container names a check that passed, and never the check volume that
/// the container waits for. A text that is no time is shown without white space, so that no controller
/// reads it as a network error.
#[test]
fn a_waiting_init_container_or_check_volume_is_found_without_a_passed_check() {
    let mounts = json!([{"name": "imagecheck-1", "mountPath": "/c"}]);
    let spec = json!({
        "initContainers": [
            {"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Always"},
            {"name": "i", "image": "a:1", "imagePullPolicy": "Always", "volumeMounts": mounts},
        ],
        "containers": [{"name": "c", "image": "c:1", "imagePullPolicy": "Always", "volumeMounts": mounts}],
        "volumes": [{"name": "imagecheck-1", "image": {"reference": "b:1", "pullPolicy": "Always"}}],
    });
    let passed = json!({"terminated": {"exitCode": 0}});
    let waits = |image: &str| json!({"waiting": {"reason": "ErrImagePull", "message": format!("\"{image}\"")}});
    for (init, app, since) in [
        (waits("a:1"), json!({}), "2026-05-06T07:08:09"),
        (
            passed.clone(),
            waits("b:1"),
            "2026-05-06T07:08:09Z_connection_refused",
        ),
    ] {
        let mut request = pod_create(&spec);
        request["object"]["status"] = json!({
            "initContainerStatuses": [{"name": "imagecheck-0", "state": passed}, {"name": "i", "state": init}],
            "containerStatuses": [{"name": "c", "state": app}],
            "conditions": [
                {"type": "Initialized", "lastTransitionTime": "2026-05-06T07:08:09"},
                {"type": "ContainersReady", "lastTransitionTime": "2026-05-06T07:08:09Z connection refused"},
            ],
        });
        let settings = json!({"mode": "Reject", "imageChecks": {"coverage": "Off"}});
        let answer = validate(&request, &settings);
        let message = answer.message();
        let expected = format!(":1 with Always (ErrImagePull since {since}): ");
        assert!(message.contains(&expected), "{message}");
    }
}
