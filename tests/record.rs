//! The record of changes on an object that already carries one, genuine or forged.

mod common;

use common::{pod_create, validate};
use serde_json::{Value, json};

const ANNOTATION: &str = "consistent-pull-policy/changes";

/// The record after a repair of a Pod that came with this one.
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
        panic!("{earlier:?} left what is no JSON: {error}: {record:?}");
    })
}

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
fn an_earlier_record_is_kept_behind_what_is_new() {
    let policy = json!({"path": "p", "from": null, "to": "Always", "rule": "default"});
    let check = json!({"name": "imagecheck-1", "image": "b", "imagePullPolicy": "Always"});
    let added = json!({"path": "q", "from": null, "to": check, "rule": "missing-check"});
    let earlier = json!([policy, added]).to_string();
    assert_eq!(record_after(&earlier), [change(), policy, added]);
    assert_eq!(record_after("[]"), [change()]);
}

#[test]
fn a_count_goes_on_counting_and_never_overflows() {
    assert_eq!(
        record_after(r#"[{"more":7}]"#),
        [change(), json!({"more": 7})]
    );
    let most = usize::MAX.to_string();
    let record = record_after(&format!(r#"[{{"more":{most}}},{{"more":{most}}}]"#));
    assert_eq!(record, [change(), json!({"more": usize::MAX})]);
}

#[test]
fn what_is_no_record_is_replaced() {
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

/// A Pod so large that its record doesn't fit is told so by the count; only where the annotations of
/// others take the room, somebody can do something about it.
#[test]
fn a_record_that_is_long_by_itself_is_cut_in_silence() {
    // The second is too long for the room that is left, the third isn't.
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
