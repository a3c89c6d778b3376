//! What a repair leaves alone: everything else, byte for byte. And what can't be read.

mod common;

use common::{Answer, Table, pod_create, validate};
use consistent_pull_policy::evaluate;
use proptest::prelude::*;
use serde_json::{Value, json};

fn answer_to(payload: &str) -> Answer {
    let answer = evaluate::validate(payload.as_bytes(), &mut Table::default());
    let answer = answer.expect("an answer");
    Answer(serde_json::from_slice(&answer).expect("the answer is JSON"))
}

/// The text of the object that goes out.
fn object_out(payload: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Out<'a> {
        #[serde(borrow)]
        mutated_object: &'a serde_json::value::RawValue,
    }
    let answer = evaluate::validate(payload.as_bytes(), &mut Table::default());
    let answer = String::from_utf8(answer.expect("an answer")).expect("UTF-8");
    let out: Out<'_> = serde_json::from_str(&answer).expect("a changed object");
    out.mutated_object.get().to_owned()
}

/// A payload whose object has this Pod spec, to the letter.
fn payload(spec: &str) -> String {
    format!(
        r#"{{"request":{{"kind":{{"group":"","kind":"Pod"}},"operation":"CREATE","object":{{"spec":{spec}}}}},"settings":{{"recordChanges":false}}}}"#
    )
}

const WEAK: &str = r#"{"initContainers":[{"name":"imagecheck-0","image":"a:1","imagePullPolicy":"Never"}],
    "containers":[{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]"#;

#[test]
fn bytes_outside_an_edit_stay_as_they_are() {
    for rest in [
        r#""n":1.50,"big":123456789012345678901234567890,"e":1E400,"minus":-0.0"#,
        r#""s":"\u00e9\/\ud83d\ude00\n","b":true,"z":null"#,
        "\n\t\"spaced\"  :\r\n [ 1 , 2 ]  ",
        r#""dup":1,"dup":2"#,
    ] {
        let spec = format!("{WEAK},{rest}}}");
        let expected = format!(
            r#"{{"spec":{}}}"#,
            spec.replace("\"Never\"", "\"IfNotPresent\"")
        );
        assert_eq!(object_out(&payload(&spec)), expected);
    }
}

#[test]
fn a_policy_is_put_behind_its_image_where_it_is_not_set() {
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
        object_out(&payload(spec)),
        format!(r#"{{"spec":{expected}}}"#)
    );
}

/// As in the API server's decoder.
#[test]
fn the_last_of_duplicate_keys_wins() {
    let spec = r#"{"initContainers":[{"name":"imagecheck-0","image":"b:1","image":"a:1","imagePullPolicy":"Always","imagePullPolicy":"Never"}],
        "containers":[],"containers":[{"name":"x","name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]}"#;
    let expected = spec.replace(r#""Never""#, r#""IfNotPresent""#);
    assert_eq!(
        object_out(&payload(spec)),
        format!(r#"{{"spec":{expected}}}"#)
    );
}

/// Whoever writes the payload: the kind may come after the object.
#[test]
fn the_order_of_the_request_does_not_matter() {
    let payload = format!(
        r#"{{"settings":{{"recordChanges":false}},"request":{{"object":{{"spec":{WEAK}}}}},"operation":"CREATE","kind":{{"kind":"Pod"}}}}}}"#
    );
    assert!(object_out(&payload).contains(r#""a:1","imagePullPolicy":"IfNotPresent"}],"#));
}

#[test]
fn errors_name_the_path_and_what_is_wrong_and_no_value() {
    let container = |fields: &str| format!(r#"{{"containers":[{{"name":"a",{fields}}}]}}"#);
    let mounting = |mounts: &str| {
        format!(
            r#"{{"volumes":[{{"name":"v","image":{{"reference":"b"}}}}],"containers":[{{"name":"a","image":"b","volumeMounts":{mounts}}}]}}"#
        )
    };
    let cases = [
        ("7".to_owned(), "spec must be an object, not a number"),
        ("null".to_owned(), "spec must be an object, not null"),
        ("[]".to_owned(), "spec must be an object, not a list"),
        (
            r#"{"containers":{"secret":1}}"#.to_owned(),
            "spec.containers must be a list, not an object",
        ),
        (
            r#"{"containers":["secret, expected a string at line 1"]}"#.to_owned(),
            "spec.containers[0] must be an object, not a string",
        ),
        (
            r#"{"containers":[["name","image"]]}"#.to_owned(),
            "spec.containers[0] must be an object, not a list",
        ),
        (
            r#"{"containers":[{"image":"secret"}]}"#.to_owned(),
            "spec.containers[0].name is missing",
        ),
        (
            container(r#""image":-12.5"#),
            "spec.containers[0].image must be a string, not a number",
        ),
        (
            container(r#""image":{"secret":1}"#),
            "spec.containers[0].image must be a string, not an object",
        ),
        (
            container(r#""image":["secret"]"#),
            "spec.containers[0].image must be a string, not a list",
        ),
        (
            container(r#""image":"\ud800""#),
            "spec.containers[0].image has an escape of no character",
        ),
        (
            container(r#""imagePullPolicy":"secret""#),
            "spec.containers[0].imagePullPolicy must be Always, IfNotPresent or Never",
        ),
        (
            container(r#""imagePullPolicy":true"#),
            "spec.containers[0].imagePullPolicy must be a string, not a boolean",
        ),
        (
            mounting(r#"[{"name":null}]"#),
            "spec.containers[0].volumeMounts[0].name must be a string, not null",
        ),
        (
            mounting(r#""secret""#),
            "spec.containers[0].volumeMounts must be a list, not a string",
        ),
        (
            mounting(r#"["secret"]"#),
            "spec.containers[0].volumeMounts[0] must be an object, not a string",
        ),
        (
            r#"{"volumes":[{"image":{"reference":"a"}}]}"#.to_owned(),
            "spec.volumes[0].name is missing",
        ),
        (
            r#"{"volumes":[{"name":"v","image":"secret"}]}"#.to_owned(),
            "spec.volumes[0].image must be an object, not a string",
        ),
        (
            r#"{"\u0069nitContainers":[]}"#.to_owned(),
            "spec.initContainers has a name that is written with escapes: write it plainly",
        ),
    ];
    for (spec, expected) in cases {
        let answer = answer_to(&payload(&spec));
        assert!(!answer.accepted(), "{spec}");
        assert_eq!(answer.message(), expected, "{spec}");
    }
}

/// As for the API server.
#[test]
fn null_is_not_set() {
    let spec = r#"{"os":null,"nodeSelector":null,"affinity":null,"initContainers":null,"ephemeralContainers":null,
        "volumes":[{"name":"v","emptyDir":{},"image":null}],
        "containers":[{"name":"a","image":"a:1","imagePullPolicy":null,"restartPolicy":null,"volumeMounts":null}]}"#;
    let payload = payload(spec)
        .replace(
            r#""operation""#,
            r#""userInfo":null,"subResource":null,"oldObject":null,"operation""#,
        )
        .replace(r#""spec""#, r#""metadata":null,"status":null,"spec""#)
        .replace(r#"{"recordChanges":false}"#, r#"{"mode":"Reject"}"#);
    let answer = answer_to(&payload);
    assert!(answer.accepted(), "{}", answer.message());
}

#[test]
fn what_is_no_request_says_so() {
    let cases = [
        ("", "the request is not JSON"),
        ("[]", "the request must be an object, not a list"),
        ("{}", "request is missing"),
        (r#"{"request":{}}"#, "request.kind is missing"),
        (r#"{"request":{"kind":{}}}"#, "request.kind.kind is missing"),
        (
            r#"{"request":{"kind":{"kind":"Pod"},"operation":"CREATE"}}"#,
            "object is missing",
        ),
        (
            r#"{"request":{"kind":{"kind":"Pod"},"operation":"CREATE","object":{}}}"#,
            "spec is missing",
        ),
        (
            r#"{"request":{"kind":{"group":"apps","kind":"Deployment"},"operation":"CREATE","object":{"spec":{}}}}"#,
            "spec.template is missing",
        ),
        (
            r#"{"request":{"kind":{"group":"apps","kind":"Deployment"},"operation":"CREATE","object":{"spec":{"template":{}}}}}"#,
            "spec.template.spec is missing",
        ),
        (
            r#"{"request":{"kind":{"kind":"Pod"},"operation":1}}"#,
            "request.operation must be a string, not a number",
        ),
    ];
    for (payload, expected) in cases {
        let answer = answer_to(payload);
        assert!(!answer.accepted(), "{payload}");
        assert_eq!(answer.message(), expected, "{payload}");
    }
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
    fn unknown_fields_survive_whatever_they_are(unknown in any_json(), pretty in any::<bool>()) {
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
        let mut object: Value = serde_json::from_str(&object_out(&payload)).expect("JSON");
        object["metadata"].as_object_mut().expect("metadata").remove("annotations");
        object["spec"]["initContainers"][0]["imagePullPolicy"] = json!("Never");
        prop_assert_eq!(&object, &request["object"]);
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let answer = evaluate::validate(&bytes, &mut Table::default()).expect("an answer");
        prop_assert!(serde_json::from_slice::<Value>(&answer).is_ok());
        let answer = evaluate::validate_settings(&bytes).expect("an answer");
        prop_assert!(serde_json::from_slice::<Value>(&answer).is_ok());
    }

    #[test]
    fn a_cut_request_is_rejected(cut in any::<prop::sample::Index>()) {
        let payload = payload(&format!("{WEAK}}}"));
        let cut = &payload[..cut.index(payload.len())];
        prop_assert!(!answer_to(cut).accepted(), "{}", cut);
    }

    #[test]
    fn an_image_may_be_written_with_escapes(units in "[a-z]{1,8}") {
        let escaped: Vec<String> = units.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let escaped = escaped.concat();
        let spec = json!({"containers": [{"name": "a", "image": units, "imagePullPolicy": "Always"}]});
        let answer = validate(&pod_create(&spec), &json!({"images": {"forbidAlways": [units]}}));
        prop_assert!(answer.mutated().is_some());
        let written = format!(
            r#"{{"containers":[{{"name":"a","image":"{escaped}","imagePullPolicy":"Always"}}]}}"#
        );
        let settings = json!({"images": {"forbidAlways": [units]}});
        let payload = payload(&written).replace(r#"{"recordChanges":false}"#, &settings.to_string());
        prop_assert!(object_out(&payload).contains(&escaped));
    }
}
