//! Pods that wait for an image, as the audit scanner sends them.

mod common;

use common::{captured, validate};
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
