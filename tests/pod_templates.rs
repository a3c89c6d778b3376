//! The setting `templates`: what happens to the pod template of a workload.

mod common;

use common::{container, deployment, pod_create, pod_with_weak_check, validate};
use serde_json::json;

#[test]
fn templates_decides_in_every_mode() {
    // mode, templates, (accepted, changed, warned)
    let cases = [
        ("Fix", "Off", (true, false, false)),
        ("Fix", "Warn", (true, false, true)),
        ("Fix", "Enforce", (true, true, true)),
        ("Reject", "Off", (true, false, false)),
        ("Reject", "Warn", (true, false, true)),
        ("Reject", "Enforce", (false, false, false)),
        ("Warn", "Off", (true, false, false)),
        ("Warn", "Warn", (true, false, true)),
        ("Warn", "Enforce", (true, false, true)),
    ];
    for (mode, templates, expected) in cases {
        let settings = json!({"mode": mode, "templates": templates});
        let answer = validate(&deployment(&pod_with_weak_check()), &settings);
        let found = (
            answer.accepted(),
            answer.mutated().is_some(),
            !answer.warnings().is_empty(),
        );
        assert_eq!(found, expected, "{mode} {templates}");
    }
}

#[test]
fn a_malformed_pod_template_is_accepted_only_if_templates_is_off() {
    let request = deployment(&json!({"containers": 7}));
    for (templates, passes) in [("Off", true), ("Warn", false), ("Enforce", false)] {
        for mode in ["Fix", "Reject", "Warn"] {
            let answer = validate(&request, &json!({"mode": mode, "templates": templates}));
            assert_eq!(answer.accepted(), passes, "{mode} {templates}");
        }
    }
    let pod = validate(
        &pod_create(&json!({"containers": 7})),
        &json!({"templates": "Off"}),
    );
    assert_eq!(
        pod.message(),
        "spec.containers must be a list, not a number"
    );
}

#[test]
fn a_check_is_never_added_to_a_pod_template() {
    let spec = json!({
        "initContainers": [container("imagecheck-0", "a:1", "Always")],
        "containers": [container("a", "a:2", "Always")],
    });
    for mode in ["Fix", "Reject", "Warn"] {
        let settings =
            json!({"mode": mode, "templates": "Enforce", "imageChecks": {"coverage": "Fix"}});
        let answer = validate(&deployment(&spec), &settings);
        assert!(answer.accepted() && answer.mutated().is_none(), "{mode}");
        assert_eq!(
            answer.warnings(),
            ["a pulls a:2 but no image check pulls it first: add one with Always"],
            "{mode}"
        );
    }
}
