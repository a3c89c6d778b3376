//! Malformed requests are rejected. If a field is malformed or missing, the message names its path,
//! but not its value.

use crate::common::{
    Answer, FakeRegistry, OPEN_SPEC_WITH_WEAK_CHECK, answer_to_payload, payload_with_pod_spec,
};
use consistent_pull_policy::evaluate;
use proptest::prelude::*;
use serde_json::Value;

/// The answer to the payload. No registry has any image.
fn answer_to(payload: &str) -> Answer {
    answer_to_payload(payload, &mut FakeRegistry::default())
}

#[test]
fn an_error_names_the_path_and_never_a_value() {
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
            r#"{"\u0069nitContainers":{}}"#.to_owned(),
            "spec.initContainers must be a list, not an object",
        ),
    ];
    for (spec, expected) in cases {
        let answer = answer_to(&payload_with_pod_spec(&spec));
        assert!(!answer.accepted(), "{spec}");
        assert_eq!(answer.message(), expected, "{spec}");
    }
}

/// The API server, too, reads `null` as not set.
#[test]
fn null_means_not_set() {
    let spec = r#"{"os":null,"nodeSelector":null,"affinity":null,"initContainers":null,"ephemeralContainers":null,
        "volumes":[{"name":"v","emptyDir":{},"image":null}],
        "containers":[{"name":"a","image":"a:1","imagePullPolicy":null,"restartPolicy":null,"volumeMounts":null}]}"#;
    let payload = payload_with_pod_spec(spec)
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
fn a_payload_without_a_complete_request_is_rejected() {
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

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let answer = evaluate::validate(&bytes, &mut FakeRegistry::default()).expect("an answer");
        prop_assert!(serde_json::from_slice::<Value>(&answer).is_ok());
        let answer = evaluate::validate_settings(&bytes).expect("an answer");
        prop_assert!(serde_json::from_slice::<Value>(&answer).is_ok());
    }

    #[test]
    fn a_cut_request_is_rejected(cut in any::<prop::sample::Index>()) {
        let payload = payload_with_pod_spec(&format!("{OPEN_SPEC_WITH_WEAK_CHECK}}}"));
        let cut = &payload[..cut.index(payload.len())];
        prop_assert!(!answer_to(cut).accepted(), "{}", cut);
    }
}
