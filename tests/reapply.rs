//! A manifest that is applied once more comes out as it is stored. The reviews were captured from
//! a real API server whose webhook had repaired the objects before.

mod common;

use common::{captured, pod_create, validate};
use serde_json::{Value, json};

const RECORD: &str = "consistent-pull-policy/changes";

/// The policies of all containers, by list and name.
fn policies(spec: &Value) -> Vec<(String, Value)> {
    let places = common::places(spec).into_iter();
    places
        .map(|(list, _, place)| {
            let name = place["name"].as_str().expect("a name");
            (format!("{list}/{name}"), place["imagePullPolicy"].clone())
        })
        .collect()
}

#[test]
fn a_repaired_object_can_be_applied_again() {
    for (name, path) in [
        ("reapply-pod", "/spec"),
        ("reapply-job-client-side", "/spec/template/spec"),
        ("reapply-job-server-side", "/spec/template/spec"),
    ] {
        let request = captured(name);
        let spec = |object: &Value| policies(object.pointer(path).expect("a Pod spec"));
        let stored = spec(&request["oldObject"]);
        assert_ne!(
            spec(&request["object"]),
            stored,
            "{name}: nothing to restore"
        );
        // Whatever the other settings say by now, and without a word.
        for settings in [
            json!({}),
            json!({"templates": "Off", "recordChanges": false}),
            json!({"templates": "Enforce", "pullOnce": false}),
        ] {
            let answer = validate(&request, &settings);
            let object = answer.mutated().expect("restored");
            assert_eq!(spec(object), stored, "{name}");
            assert!(answer.warnings().is_empty(), "{name}");
            assert!(answer.audited("changes").is_empty(), "{name}");
            assert!(answer.audited("findings").is_empty(), "{name}");
            // And that changes nothing any more.
            let mut again = request.clone();
            again["object"] = object.clone();
            assert_eq!(validate(&again, &settings).mutated(), None, "{name}");
        }
        for mode in ["Reject", "Warn"] {
            let answer = validate(&request, &json!({"mode": mode}));
            assert!(
                answer.accepted() && answer.mutated().is_none(),
                "{name} {mode}"
            );
        }
    }
}

/// A stored Pod, and the same as its author wrote it.
fn update(stored: &Value, record: &str, applied: &Value) -> Value {
    let mut request = pod_create(applied);
    request["operation"] = json!("UPDATE");
    request["oldObject"] = pod_create(stored)["object"].clone();
    request["oldObject"]["metadata"]["annotations"] = json!({RECORD: record});
    request
}

fn pod(image: &str, policy: &str) -> Value {
    json!({"containers": [{"name": "a", "image": image, "imagePullPolicy": policy}]})
}

fn entry(container: Option<&str>, from: &str, to: &str, field: &str) -> Value {
    let path = format!("spec.containers[0].{field}");
    json!({"path": path, "container": container, "from": from, "to": to, "rule": "default"})
}

#[test]
fn only_what_the_record_says_and_what_is_stored_comes_back() {
    let record = |entry: Value| json!([entry]).to_string();
    let policy = |from, to| record(entry(Some("a"), from, to, "imagePullPolicy"));
    let (stored, applied) = (pod("a:1", "IfNotPresent"), pod("a:1", "Always"));
    let cases = [
        (policy("Always", "IfNotPresent"), true),
        (
            record(entry(None, "Always", "IfNotPresent", "imagePullPolicy")),
            true,
        ),
        // Not what is stored, not what is brought, another container, no record at all.
        (policy("Always", "Never"), false),
        (policy("Never", "IfNotPresent"), false),
        (
            record(entry(
                Some("b"),
                "Always",
                "IfNotPresent",
                "imagePullPolicy",
            )),
            false,
        ),
        (
            record(entry(Some("a"), "Always", "IfNotPresent", "command")),
            false,
        ),
        (
            r#"[{"path":"x"},7,{"path":"spec.containers[9].image","from":"a","to":"b"}]"#
                .to_owned(),
            false,
        ),
        ("no JSON".to_owned(), false),
        (String::new(), false),
    ];
    for (record, restored) in cases {
        let answer = validate(&update(&stored, &record, &applied), &json!({}));
        assert!(answer.accepted(), "{record}");
        let object = answer.mutated();
        let policy = object.map(|object| &object["spec"]["containers"][0]["imagePullPolicy"]);
        let expected = json!("IfNotPresent");
        assert_eq!(policy, restored.then_some(&expected), "{record}");
    }
}

#[test]
fn a_record_that_names_a_field_twice_restores_it_once() {
    let change = entry(Some("a"), "Always", "IfNotPresent", "imagePullPolicy");
    let same = entry(Some("a"), "IfNotPresent", "IfNotPresent", "imagePullPolicy");
    let record = json!([change, same, change]).to_string();
    let request = update(&pod("a:1", "IfNotPresent"), &record, &pod("a:1", "Always"));
    let answer = validate(&request, &json!({}));
    assert_eq!(
        answer.mutated().expect("restored")["spec"],
        pod("a:1", "IfNotPresent")
    );
}

#[test]
fn a_pinned_image_comes_back_and_an_image_that_is_new_is_examined() {
    let pinned = format!("a:1@{}", common::digest(7));
    let record = json!([entry(Some("a"), "a:1", &pinned, "image")]).to_string();
    let stored = pod(&pinned, "IfNotPresent");
    let answer = validate(
        &update(&stored, &record, &pod("a:1", "IfNotPresent")),
        &json!({}),
    );
    assert_eq!(answer.mutated().expect("restored")["spec"], stored);

    let request = update(&stored, &record, &pod("A:2", "IfNotPresent"));
    let answer = validate(&request, &json!({}));
    assert!(!answer.accepted() && answer.message().contains("upper-case"));
}

/// Another webhook may put a container in front.
#[test]
fn a_container_that_was_moved_is_found_by_its_name() {
    let change = entry(Some("a"), "Always", "IfNotPresent", "imagePullPolicy");
    let with_sidecar = |policy: &str| {
        json!({"containers": [
            {"name": "sidecar", "image": "s:1", "imagePullPolicy": "Always"},
            {"name": "a", "image": "a:1", "imagePullPolicy": policy},
        ]})
    };
    let record = json!([change]).to_string();
    let request = update(
        &with_sidecar("IfNotPresent"),
        &record,
        &with_sidecar("Always"),
    );
    let answer = validate(&request, &json!({}));
    assert_eq!(
        answer.mutated().expect("restored")["spec"],
        with_sidecar("IfNotPresent")
    );
}
