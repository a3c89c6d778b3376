//! The record: the annotation that lists the changes. The object of a request may already have a
//! record. A user may have forged this record.

use crate::common::{pod_create, pod_with_weak_check, validate};
use serde_json::{Value, json};

const ANNOTATION: &str = "consistent-pull-policy/changes";

/// Repairs a Pod whose annotation has the value `earlier`, and returns the record of the result.
fn record_after(earlier: &str) -> Vec<Value> {
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Never"}],
        "containers": [{"name": "a", "image": "a:1", "imagePullPolicy": "IfNotPresent"}],
    }));
    request["object"]["metadata"]["annotations"] = json!({ANNOTATION: earlier});
    let answer = validate(&request, &json!({}));
    let object = answer.mutated().expect("a repair");
    let record = object["metadata"]["annotations"][ANNOTATION].as_str();
    serde_json::from_str(record.expect("a record")).unwrap_or_else(|error| {
        panic!("{earlier:?} gave a record that is not JSON: {error}: {record:?}");
    })
}

/// The entry for the repair in `record_after`.
fn change() -> Value {
    json!({
        "path": "spec.initContainers[0].imagePullPolicy",
        "container": "imagecheck-0",
        "from": "Never",
        "to": "IfNotPresent",
        "rule": "weak-check",
    })
}

#[test]
fn an_earlier_record_stays_after_the_new_changes() {
    let policy = json!({"path": "p", "from": null, "to": "Always", "rule": "default"});
    let check = json!({"name": "imagecheck-1", "image": "b", "imagePullPolicy": "Always"});
    let added = json!({"path": "q", "from": null, "to": check, "rule": "missing-check"});
    let earlier = json!([policy, added]).to_string();
    assert_eq!(record_after(&earlier), [change(), policy, added]);
    assert_eq!(record_after("[]"), [change()]);
}

#[test]
fn counts_of_left_out_changes_are_added_without_overflow() {
    assert_eq!(
        record_after(r#"[{"more":7}]"#),
        [change(), json!({"more": 7})]
    );
    let most = usize::MAX.to_string();
    let record = record_after(&format!(r#"[{{"more":{most}}},{{"more":{most}}}]"#));
    assert_eq!(record, [change(), json!({"more": usize::MAX})]);
}

#[test]
fn an_annotation_that_is_no_record_is_replaced() {
    for forged in [
        "",
        "x",
        "{}",
        "[1]",
        "[[]]",
        r#"[{"path":1}]"#,
        r#"[{"to":{]}]"#,
        r#"[{"other":"x"}]"#,
        r#"[{"path":"x","rule":"y","more":1}]"#,
        r#"[{"path":"x"}]"#,
        r#"[{"rule":"y"}]"#,
        r#"[{"path":1,"rule":"y"}]"#,
        r#"[{"path":"x","rule":1}]"#,
        r#"[{"path":"x","rule":"y","other":1}]"#,
        r#"[{"path":"x","rule":"y","container":1}]"#,
        r#"[{"more":"7"}]"#,
        r#"[{"more":-1}]"#,
        r#"[{"path":"x"}"#,
        r#"[{"path":"x"}]]"#,
        "[{\"path\":\"a\nb\"}]",
        r#"[{"path":"\x"}]"#,
    ] {
        assert_eq!(record_after(forged), [change()], "{forged}");
    }
}

/// The entry `more` counts the changes that do not fit. The audit annotations get a note only if
/// other annotations take the room, because a person can shorten other annotations. Here the record
/// itself is too long, so there is no note.
#[test]
fn a_record_that_is_too_long_is_cut_without_a_note() {
    // The entry of the second container does not fit. The entry of the third container would fit,
    // but is left out too.
    let names = ["a".repeat(16_000), "b".repeat(16_000), "c".to_owned()];
    let containers: Value = names
        .iter()
        .map(|name| json!({"name": name, "image": "a:1", "imagePullPolicy": "Never"}))
        .collect();
    let mut request = pod_create(&json!({"containers": containers}));
    request["object"]["metadata"]["annotations"] = json!({"other": "x"});
    let settings = json!({"images": {"forbidNever": ["*"]}});
    let answer = validate(&request, &settings);
    let annotations = &answer.mutated().expect("a repair")["metadata"]["annotations"];
    let record = annotations[ANNOTATION].as_str().expect("a record");
    let record: Vec<Value> = serde_json::from_str(record).expect("JSON");
    assert_eq!(record.len(), 2);
    assert_eq!(record[0]["container"], *names[0]);
    assert_eq!(record[1], json!({"more": 2}));
    assert_eq!(answer.0["audit_annotations"]["record"], Value::Null);
}

/// The API server allows 256 KiB for all annotations of an object.
#[test]
fn the_record_is_cut_if_other_annotations_leave_too_little_room() {
    let limit = 256 * 1024;
    for (free, note) in [
        (20_000, None),
        (2_000, None),
        (
            250,
            Some("shortened: the annotations would be larger than 262144 bytes"),
        ),
        (
            50,
            Some("left out: the annotations would be larger than 262144 bytes"),
        ),
    ] {
        let mut request = pod_create(&pod_with_weak_check());
        let size = limit - free - "other".len();
        request["object"]["metadata"]["annotations"] = json!({"other": "\"".repeat(size)});
        let answer = validate(&request, &json!({}));
        let annotations = answer.mutated().expect("a repair")["metadata"]["annotations"].clone();
        let total: usize = annotations
            .as_object()
            .expect("annotations")
            .iter()
            .map(|(key, value)| key.len() + value.as_str().expect("a text").len())
            .sum();
        assert!(total <= limit, "{free}: {total}");
        assert_eq!(annotations.get(ANNOTATION).is_some(), free > 50);
        assert_eq!(
            answer.0["audit_annotations"]["record"].as_str(),
            note,
            "{free}"
        );
    }
}

#[test]
fn new_changes_come_before_a_forged_record() {
    let mut request = pod_create(&pod_with_weak_check());
    let forged = json!({"path": "x".repeat(500), "from": null, "to": "y", "rule": "z"});
    let forged = Value::from(vec![forged; 40]).to_string();
    request["object"]["metadata"]["annotations"] = json!({ANNOTATION: forged});
    let answer = validate(&request, &json!({}));
    let record = answer.mutated().expect("a repair")["metadata"]["annotations"][ANNOTATION].clone();
    let record = record.as_str().expect("a text");
    assert!(record.len() <= 16 * 1024);
    let record: Vec<Value> = serde_json::from_str(record).expect("JSON");
    assert_eq!(record[..2], answer.audited("changes")[..]);
    assert!(record.last().expect("a count")["more"].as_u64() > Some(0));
}
