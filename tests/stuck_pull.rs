//! Pods that wait for an image, as the audit scanner sends them.

mod common;

use common::{captured, pod_create, validate};
use serde_json::{Value, json};

#[test]
fn a_stuck_pod_is_told_with_what_made_it_hang() {
    let request = captured("audit-pod-stuck-after-check");
    let answer = validate(&request, &json!({"mode": "Reject"}));
    assert!(!answer.accepted());
    let told = "container-0 waits for 127.0.0.1:5000/my-app:v1 (ImagePullBackOff since \
                2026-11-21T09:06:17Z) although imagecheck-0 passed with IfNotPresent: the registry \
                no longer has it or can't be reached; set imagecheck-0 to Always";
    assert!(answer.message().starts_with(told), "{}", answer.message());
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
fn who_repairs_looks_at_no_status_and_who_runs_is_not_told() {
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

/// The status of the captured Pod, edited.
fn stuck(edit: impl Fn(&mut Value)) -> common::Answer {
    let mut request = captured("audit-pod-stuck-after-check");
    edit(&mut request["object"]);
    validate(
        &request,
        &json!({"mode": "Reject", "imageChecks": {"coverage": "Off"}}),
    )
}

#[test]
fn each_reason_has_its_way_out_and_no_word_of_the_kubelet() {
    for (reason, way_out) in [
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
        let answer = stuck(|object| {
            // The check waits itself.
            object["spec"]["containers"][1]["imagePullPolicy"] = json!("IfNotPresent");
            object["status"]["containerStatuses"][1]["state"] =
                json!({"waiting": {"reason": "PodInitializing"}});
            object["status"]["initContainerStatuses"][1]["state"] =
                json!({"waiting": {"reason": reason, "message": "token=secret"}});
        });
        assert_eq!(
            answer.message(),
            format!(
                "imagecheck-0 waits for 127.0.0.1:5000/my-app:v1 with IfNotPresent ({reason} since 2026-11-21T09:06:20Z): {way_out}"
            )
        );
    }
    let running = stuck(|object| {
        object["spec"]["containers"][1]["imagePullPolicy"] = json!("IfNotPresent");
        object["status"]["containerStatuses"][1]["state"] =
            json!({"waiting": {"reason": "CrashLoopBackOff"}});
    });
    assert!(running.accepted(), "{}", running.message());
}

#[test]
fn a_status_of_another_shape_says_nothing() {
    for status in [
        json!(7),
        json!([]),
        json!({"containerStatuses": {}}),
        json!({"containerStatuses": [7, {}]}),
    ] {
        let answer = stuck(|object| {
            object["spec"]["containers"][1]["imagePullPolicy"] = json!("IfNotPresent");
            object["status"] = status.clone();
        });
        assert!(answer.accepted(), "{}", answer.message());
    }
}

/// An init container has passed when it ended well, a volume as soon as the first who mounts it has
/// started: the node pulls it before.
#[test]
fn what_has_passed() {
    let status = |state: &Value| {
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
            request["object"]["status"] = status(&state);
            let settings = json!({"mode": "Reject", "imageChecks": {"coverage": "Off", "namePrefixes": ["first"]}});
            let answer = validate(&request, &settings);
            assert!(!answer.accepted());
            let told = answer.message();
            assert_eq!(
                told.contains("passed with Always"),
                passed,
                "{state}: {told}"
            );
        }
    }
}
