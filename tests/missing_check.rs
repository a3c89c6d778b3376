//! The rule *missing-check*: the largest size of the added checks, and the sentence for a pod
//! template.

use crate::common::{container, deployment, pod_create, validate};
use serde_json::{Value, json};

/// A check that can be copied: it has a command.
fn check(name: &str, image: &str) -> Value {
    let mut check = container(name, image, "Always");
    check["command"] = json!(["/bin/true"]);
    check
}

/// The size of the additions is computed before they are written. A copied field counts with the
/// length of its JSON text in the request, escapes included.
#[test]
fn at_most_a_mebibyte_is_added() {
    for (images, argument, accepted) in [
        (100, "x".repeat(10_000), true),
        (110, "x".repeat(10_000), false),
        (100, "\"".repeat(5_000), true),
        (100, "\"".repeat(5_500), false),
        (1, "x".repeat(1_048_000), true),
        (1, "x".repeat(1_048_576), false),
    ] {
        let mut first = check("imagecheck-0", "a:1");
        first["args"] = json!([argument]);
        let containers: Vec<Value> = (0..images)
            .map(|number| container(&format!("c{number}"), &format!("c{number}:1"), "Always"))
            .collect();
        let request = pod_create(&json!({"initContainers": [first], "containers": containers}));
        let settings = json!({"imageChecks": {"coverage": "Fix"}, "recordChanges": false});
        let answer = validate(&request, &settings);
        let bytes = argument.len();
        assert_eq!(
            answer.accepted(),
            accepted,
            "{images} images, {bytes} bytes"
        );
        let before = request["object"].to_string().len();
        let after = answer
            .mutated()
            .map_or(before, |object| object.to_string().len());
        // `IfNotPresent` is six bytes longer than `Always`, and a changed pull policy is no addition.
        assert!(
            after - before <= 1024 * 1024 + 6 * images,
            "{images} images, {bytes} bytes"
        );
        if !accepted {
            assert!(answer.mutated().is_none());
            assert_eq!(answer.audited("findings").len(), images);
            assert_eq!(answer.0["code"], 422);
        }
    }
}

/// Without init containers, every app container mounts every check volume. So the mounts are most of
/// the size.
#[test]
fn check_volumes_and_their_mounts_are_at_most_a_mebibyte() {
    let settings = json!({
        "imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"},
        "pullOnce": false,
        "recordChanges": false,
    });
    let sizes: Vec<(bool, usize)> = (105..=120)
        .map(|images| {
            let containers: Vec<Value> = (0..images)
                .map(|number| container(&format!("c{number}"), &format!("c{number}:1"), "Always"))
                .collect();
            let request = pod_create(&json!({"containers": containers}));
            let answer = validate(&request, &settings);
            let before = request["object"].to_string().len();
            let after = answer
                .mutated()
                .map_or(before, |object| object.to_string().len());
            // The keys and brackets of new lists don't count as added.
            let keys = r#""volumes":[],"#.len() + images * r#""volumeMounts":[],"#.len();
            (answer.accepted(), (after - before).saturating_sub(keys))
        })
        .collect();
    let largest = sizes.iter().map(|(_, size)| *size).max().expect("sizes");
    assert!(largest <= 1024 * 1024, "{largest} bytes were added");
    // One image more would add about 20,000 bytes.
    assert!(
        largest > 1024 * 1024 - 20_000,
        "only {largest} bytes were added"
    );
    assert!(
        sizes[0].0 && !sizes[15].0,
        "the limit is not between 105 and 120 images"
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

/// Under `coverage: Fix`, the sentence explains why this policy adds no check. Under `Reject`, this
/// policy adds none to any Pod, and the author can add one.
#[test]
fn coverage_reject_asks_the_author_of_a_windows_pod_to_add_the_check() {
    let pod = pod_create(&json!({
        "os": {"name": "windows"},
        "initContainers": [container("imagecheck-0", "a:1", "Always")],
        "containers": [container("b", "b:1", "Always")],
    }));
    let checks = json!({"as": "ImageVolume", "coverage": "Reject"});
    let answer = validate(&pod, &json!({"imageChecks": checks}));
    let message = answer.message();
    assert!(message.ends_with("add one with Always"), "{message}");
}
