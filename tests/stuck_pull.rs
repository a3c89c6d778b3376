//! The rule *stuck-pull*: Pods that wait for an image. The audit scanner sends such Pods.

mod common;

use common::{captured, pod_create, validate};
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

#[test]
fn there_is_no_finding_in_fix_and_none_for_a_running_pod() {
    let stuck = captured("audit-pod-stuck-after-check");
    let answer = validate(&stuck, &json!({}));
    assert!(
        answer
            .audited("findings")
            .iter()
            .all(|finding| finding["rule"] != "stuck-pull")
    );
    for mode in ["Reject", "Warn"] {
        let answer = validate(&captured("audit-pod-running"), &json!({"mode": mode}));
        assert!(
            answer.accepted() && answer.warnings().is_empty(),
            "{mode}: {}",
            answer.message()
        );
    }
}

/// The answer to the captured Pod after a change of its object.
fn stuck_pod_with(edit: impl Fn(&mut Value)) -> common::Answer {
    let mut request = captured("audit-pod-stuck-after-check");
    edit(&mut request["object"]);
    validate(
        &request,
        &json!({"mode": "Reject", "imageChecks": {"coverage": "Off"}}),
    )
}

#[test]
fn each_reason_has_its_advice_and_no_message_of_the_kubelet_is_repeated() {
    for (reason, advice) in [
        ("ErrImagePull", "correct its image, or see to its registry"),
        (
            "ErrImageNeverPull",
            "its node doesn't have the image, set it to IfNotPresent",
        ),
        ("RegistryUnavailable", "see to its registry"),
        ("SignatureValidationFailed", "sign its image"),
        ("ImageInspectError", "see to its node"),
        ("InvalidImageName", "correct its image"),
    ] {
        let answer = stuck_pod_with(|object| {
            // The check itself waits.
            object["spec"]["containers"][1]["imagePullPolicy"] = json!("IfNotPresent");
            object["status"]["containerStatuses"][1]["state"] =
                json!({"waiting": {"reason": "PodInitializing"}});
            object["status"]["initContainerStatuses"][1]["state"] =
                json!({"waiting": {"reason": reason, "message": "token=secret"}});
        });
        assert_eq!(
            answer.message(),
            format!(
                "imagecheck-0 waits for 127.0.0.1:5000/my-app:v1 with IfNotPresent ({reason} since 2026-11-21T09:06:20Z): {advice}"
            )
        );
    }
    let running = stuck_pod_with(|object| {
        object["spec"]["containers"][1]["imagePullPolicy"] = json!("IfNotPresent");
        object["status"]["containerStatuses"][1]["state"] =
            json!({"waiting": {"reason": "CrashLoopBackOff"}});
    });
    assert!(running.accepted(), "{}", running.message());
}

#[test]
fn a_malformed_status_gives_no_finding() {
    for status in [
        json!(7),
        json!([]),
        json!({"containerStatuses": {}}),
        json!({"containerStatuses": [7, {}]}),
    ] {
        let answer = stuck_pod_with(|object| {
            object["spec"]["containers"][1]["imagePullPolicy"] = json!("IfNotPresent");
            object["status"] = status.clone();
        });
        assert!(answer.accepted(), "{}", answer.message());
    }
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

/// An audit names no user, in one of these forms. A person can paste a status into a new Pod.
#[test]
fn a_status_is_read_only_in_a_request_without_a_user() {
    for (user, is_read) in [
        (json!({}), true),
        (Value::Null, true),
        (json!({"groups": ["system:authenticated"]}), true),
        (json!({"username": null}), true),
        (json!({"username": "admin"}), false),
    ] {
        let mut request = captured("audit-pod-stuck-after-check");
        request["userInfo"] = user.clone();
        let answer = validate(&request, &json!({"mode": "Reject"}));
        assert_eq!(answer.message().contains(" waits for "), is_read, "{user}");
    }
    let mut request = captured("audit-pod-stuck-after-check");
    request
        .as_object_mut()
        .expect("a request")
        .remove("userInfo");
    let answer = validate(&request, &json!({"mode": "Reject"}));
    assert!(answer.message().contains(" waits for "));
}
