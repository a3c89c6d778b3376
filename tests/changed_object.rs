//! The changed object: every byte outside the changed fields stays.

use crate::common::{
    FakeRegistry, OPEN_SPEC_WITH_WEAK_CHECK, payload_with_pod_spec, pod_create, validate,
};
use consistent_pull_policy::evaluate;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The text of the changed object, before it is parsed as JSON.
fn changed_object_text(payload: &str) -> String {
    #[derive(serde::Deserialize)]
    struct ChangedObject<'a> {
        #[serde(borrow)]
        mutated_object: &'a serde_json::value::RawValue,
    }
    let answer = evaluate::validate(payload.as_bytes(), &mut FakeRegistry::default());
    let answer = String::from_utf8(answer.expect("an answer")).expect("UTF-8");
    let out: ChangedObject<'_> = serde_json::from_str(&answer).expect("a changed object");
    out.mutated_object.get().to_owned()
}

#[test]
fn bytes_outside_a_changed_field_stay() {
    for rest in [
        r#""n":1.50,"big":123456789012345678901234567890,"e":1E400,"minus":-0.0"#,
        r#""s":"\u00e9\/\ud83d\ude00\n","b":true,"z":null"#,
        "\n\t\"spaced\"  :\r\n [ 1 , 2 ]  ",
        r#""dup":1,"dup":2"#,
    ] {
        let spec = format!("{OPEN_SPEC_WITH_WEAK_CHECK},{rest}}}");
        let expected = format!(
            r#"{{"spec":{}}}"#,
            spec.replace("\"Never\"", "\"IfNotPresent\"")
        );
        assert_eq!(changed_object_text(&payload_with_pod_spec(&spec)), expected);
    }
}

#[test]
fn a_missing_pull_policy_is_written_after_the_image() {
    let spec = r#"{"initContainers":[{"image" : "a:1\u0031" , "name":"imagecheck-0"}],
        "containers":[{"name":"a","image":"a:11","imagePullPolicy":"Always"}]}"#;
    let expected = spec.replace(
        r#""a:1\u0031""#,
        r#""a:1\u0031","imagePullPolicy":"Always""#,
    );
    let expected = expected.replace(
        r#""imagePullPolicy":"Always"}]}"#,
        r#""imagePullPolicy":"IfNotPresent"}]}"#,
    );
    assert_eq!(
        changed_object_text(&payload_with_pod_spec(spec)),
        format!(r#"{{"spec":{expected}}}"#)
    );
}

/// If an object has a key twice, the API server's decoder uses the last value too.
#[test]
fn the_last_of_duplicate_keys_wins() {
    let spec = r#"{"initContainers":[{"name":"imagecheck-0","image":"b:1","image":"a:1","imagePullPolicy":"Always","imagePullPolicy":"Never"}],
        "containers":[],"containers":[{"name":"x","name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]}"#;
    let expected = spec.replace(r#""Never""#, r#""IfNotPresent""#);
    assert_eq!(
        changed_object_text(&payload_with_pod_spec(spec)),
        format!(r#"{{"spec":{expected}}}"#)
    );
}

#[test]
fn the_object_may_come_before_its_kind_in_the_request() {
    let payload = format!(
        r#"{{"settings":{{"recordChanges":false}},"request":{{"object":{{"spec":{OPEN_SPEC_WITH_WEAK_CHECK}}}}},"operation":"CREATE","kind":{{"kind":"Pod"}}}}}}"#
    );
    assert!(changed_object_text(&payload).contains(r#""a:1","imagePullPolicy":"IfNotPresent"}],"#));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn unknown_fields_stay_with_any_value(unknown in any_json(), pretty in any::<bool>()) {
        let mut request = pod_create(&json!({
            "initContainers": [
                {"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Never", "x": unknown},
            ],
            "containers": [
                {"name": "a", "image": "a:1", "imagePullPolicy": "IfNotPresent", "x": unknown},
            ],
            "x": unknown,
        }));
        request["object"]["x"] = unknown.clone();
        request["object"]["metadata"]["x"] = unknown;
        let payload = json!({"request": request});
        let payload = if pretty {
            serde_json::to_string_pretty(&payload).expect("JSON")
        } else {
            payload.to_string()
        };
        let mut object: Value = serde_json::from_str(&changed_object_text(&payload)).expect("JSON");
        object["metadata"].as_object_mut().expect("metadata").remove("annotations");
        object["spec"]["initContainers"][0]["imagePullPolicy"] = json!("Never");
        prop_assert_eq!(&object, &request["object"]);
    }

    #[test]
    fn an_image_with_json_escapes_is_read_and_its_text_stays(image in "[a-z]{1,8}") {
        let escaped: Vec<String> = image.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let escaped = escaped.concat();
        let spec = json!({"containers": [{"name": "a", "image": image, "imagePullPolicy": "Always"}]});
        let answer = validate(&pod_create(&spec), &json!({"images": {"forbidAlways": [image]}}));
        prop_assert!(answer.mutated().is_some());
        let written = format!(
            r#"{{"containers":[{{"name":"a","image":"{escaped}","imagePullPolicy":"Always"}}]}}"#
        );
        let settings = json!({"images": {"forbidAlways": [image]}});
        let payload = payload_with_pod_spec(&written).replace(r#"{"recordChanges":false}"#, &settings.to_string());
        prop_assert!(changed_object_text(&payload).contains(&escaped));
    }
}
