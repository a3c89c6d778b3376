//! A re-apply: a manifest is applied once more, and the stored values come back. The reviews come
//! from a real API server, whose webhook had repaired the objects before.

mod common;

use common::{captured, containers_of, pod_create, validate};
use serde_json::{Value, json};

const RECORD: &str = "consistent-pull-policy/changes";

/// The pull policies of all containers, by list and name.
fn pull_policies(spec: &Value) -> Vec<(String, Value)> {
    let containers = containers_of(spec).into_iter();
    containers
        .map(|(list, _, container)| {
            let name = container["name"].as_str().expect("a name");
            (
                format!("{list}/{name}"),
                container["imagePullPolicy"].clone(),
            )
        })
        .collect()
}

#[test]
fn the_manifest_of_a_repaired_object_can_be_applied_again() {
    for (name, path) in [
        ("reapply-pod", "/spec"),
        ("reapply-job-client-side", "/spec/template/spec"),
        ("reapply-job-server-side", "/spec/template/spec"),
    ] {
        let request = captured(name);
        let policies = |object: &Value| pull_policies(object.pointer(path).expect("a Pod spec"));
        let stored = policies(&request["oldObject"]);
        assert_ne!(
            policies(&request["object"]),
            stored,
            "{name}: nothing to restore"
        );
        // The other settings may have changed since then. There is no warning and no finding.
        for settings in [
            json!({}),
            json!({"templates": "Off", "recordChanges": false}),
            json!({"templates": "Enforce", "pullOnce": false}),
        ] {
            let answer = validate(&request, &settings);
            let object = answer.mutated().expect("a restored object");
            assert_eq!(policies(object), stored, "{name}");
            assert!(answer.warnings().is_empty(), "{name}");
            assert!(answer.audited("changes").is_empty(), "{name}");
            assert!(answer.audited("findings").is_empty(), "{name}");
            // A second run changes nothing.
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

/// The UPDATE request that applies a manifest to a stored Pod with this record.
fn reapply_request(stored: &Value, record: &str, applied: &Value) -> Value {
    let mut request = pod_create(applied);
    request["operation"] = json!("UPDATE");
    request["oldObject"] = pod_create(stored)["object"].clone();
    request["oldObject"]["metadata"]["annotations"] = json!({RECORD: record});
    request
}

/// The spec of a Pod with one container.
fn pod(image: &str, policy: &str) -> Value {
    json!({"containers": [{"name": "a", "image": image, "imagePullPolicy": policy}]})
}

/// An entry of the record, about a field of the first container.
fn entry(container: Option<&str>, from: &str, to: &str, field: &str) -> Value {
    let path = format!("spec.containers[0].{field}");
    json!({"path": path, "container": container, "from": from, "to": to, "rule": "default"})
}

#[test]
fn a_value_comes_back_only_if_the_record_and_the_stored_object_agree() {
    let record = |entry: Value| json!([entry]).to_string();
    let policy = |from, to| record(entry(Some("a"), from, to, "imagePullPolicy"));
    let (stored, applied) = (pod("a:1", "IfNotPresent"), pod("a:1", "Always"));
    let cases = [
        (policy("Always", "IfNotPresent"), true),
        (
            record(entry(None, "Always", "IfNotPresent", "imagePullPolicy")),
            true,
        ),
        // The stored value differs, the requested value differs, another container, another field,
        // no record.
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
        let answer = validate(&reapply_request(&stored, &record, &applied), &json!({}));
        assert!(answer.accepted(), "{record}");
        let object = answer.mutated();
        let policy = object.map(|object| &object["spec"]["containers"][0]["imagePullPolicy"]);
        let expected = json!("IfNotPresent");
        assert_eq!(policy, restored.then_some(&expected), "{record}");
    }
}

#[test]
fn a_field_that_the_record_has_twice_comes_back_once() {
    let change = entry(Some("a"), "Always", "IfNotPresent", "imagePullPolicy");
    let same = entry(Some("a"), "IfNotPresent", "IfNotPresent", "imagePullPolicy");
    let record = json!([change, same, change]).to_string();
    let request = reapply_request(&pod("a:1", "IfNotPresent"), &record, &pod("a:1", "Always"));
    let answer = validate(&request, &json!({}));
    assert_eq!(
        answer.mutated().expect("a restored object")["spec"],
        pod("a:1", "IfNotPresent")
    );
}

#[test]
fn a_pinned_image_comes_back_and_a_new_image_is_examined() {
    let pinned = format!("a:1@{}", common::digest(7));
    let record = json!([entry(Some("a"), "a:1", &pinned, "image")]).to_string();
    let stored = pod(&pinned, "IfNotPresent");
    let answer = validate(
        &reapply_request(&stored, &record, &pod("a:1", "IfNotPresent")),
        &json!({}),
    );
    assert_eq!(answer.mutated().expect("a restored object")["spec"], stored);

    let request = reapply_request(&stored, &record, &pod("A:2", "IfNotPresent"));
    let answer = validate(&request, &json!({}));
    assert!(!answer.accepted() && answer.message().contains("upper-case"));
}

/// Another webhook may insert a container before it.
#[test]
fn a_container_with_another_index_is_found_by_its_name() {
    let change = entry(Some("a"), "Always", "IfNotPresent", "imagePullPolicy");
    let with_sidecar = |policy: &str| {
        json!({"containers": [
            {"name": "sidecar", "image": "s:1", "imagePullPolicy": "Always"},
            {"name": "a", "image": "a:1", "imagePullPolicy": policy},
        ]})
    };
    let record = json!([change]).to_string();
    let request = reapply_request(
        &with_sidecar("IfNotPresent"),
        &record,
        &with_sidecar("Always"),
    );
    let answer = validate(&request, &json!({}));
    assert_eq!(
        answer.mutated().expect("a restored object")["spec"],
        with_sidecar("IfNotPresent")
    );
}
