//! The rule *missing-check*: the checks that are added, and their names.

mod common;

use common::{container, pod_create, settings_problems, validate};
use serde_json::{Value, json};

/// A check that can be copied: it has a command.
fn check(name: &str, image: &str) -> Value {
    let mut check = container(name, image, "Always");
    check["command"] = json!(["/bin/true"]);
    check
}

/// This policy would not recognise its own check, and would add another one in each run.
#[test]
fn exempt_containers_that_match_every_added_check_are_a_settings_error() {
    for exempt in [
        json!(["imagecheck-??*", "imagecheck-1"]),
        json!(["imagecheck-1", "imagecheck-2"]),
        json!(["*7"]),
    ] {
        let settings =
            json!({"imageChecks": {"coverage": "Fix"}, "exempt": {"containers": exempt}});
        assert!(settings_problems(&settings).is_some(), "{exempt}");
    }
}

#[test]
fn added_checks_take_the_lowest_free_numbers() {
    let spec = json!({
        "initContainers": [
            check("imagecheck-0", "a:0"),
            check("imagecheck-2", "a:2"),
        ],
        "containers": (3..6).map(|number| container(&format!("c{number}"), &format!("a:{number}"), "Always")).collect::<Vec<_>>(),
    });
    let answer = validate(
        &pod_create(&spec),
        &json!({"imageChecks": {"coverage": "Fix"}}),
    );
    let names: Vec<Value> = answer.mutated().expect("checks")["spec"]["initContainers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|init| init["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "imagecheck-0",
            "imagecheck-2",
            "imagecheck-1",
            "imagecheck-3",
            "imagecheck-4"
        ]
    );
}

/// Each name in use is skipped, even if there are more checks to add than free names in a row.
#[test]
fn an_added_check_never_takes_the_name_of_a_container() {
    let spec = json!({
        "initContainers": [check("imagecheck-0", "a:0")],
        "containers": [
            container("imagecheck-1", "a:1", "Always"),
            container("imagecheck-3", "a:2", "Always"),
        ],
    });
    let settings = json!({"imageChecks": {"coverage": "Fix"}});
    let answer = validate(&pod_create(&spec), &settings);
    let inits = &answer.mutated().expect("checks")["spec"]["initContainers"];
    let names = [1, 2].map(|index| inits[index]["name"].clone());
    assert_eq!(names, ["imagecheck-2", "imagecheck-4"]);
}

#[test]
fn a_windows_pod_gets_a_warning_and_no_check() {
    let request = pod_create(&json!({
        "os": {"name": "windows"},
        "containers": [container("a", "a:1", "Always")],
    }));
    for mode in ["Fix", "Reject", "Warn"] {
        let checks = json!({"coverage": "Fix", "everyPod": true, "as": "ImageVolume"});
        let settings = json!({"mode": mode, "imageChecks": checks});
        let answer = validate(&request, &settings);
        assert!(answer.accepted() && answer.mutated().is_none(), "{mode}");
        assert_eq!(
            answer.warnings(),
            ["a pulls a:1 but no image check pulls it first: none is added on Windows"],
            "{mode}"
        );
    }
}

/// The size of the additions is worked out before they are written. A copied field counts with the size
/// that it has in the request, escapes and white space included.
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
        // The changed pull policies are six bytes longer each.
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
