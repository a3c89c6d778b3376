//! Payloads that no program for JSON writes: the exact bytes around a change, escapes, equal keys, and texts
//! that are cut or no JSON. The rows of the end-to-end tests can't state these.

use consistent_pull_policy::settings::{PolicyMode, Settings};
use consistent_pull_policy::validate;
use serde_json::value::RawValue;

use crate::common::{NoRegistry, answer_to_payload, settings_problems};

/// The text of a Pod spec whose image check has a weaker pull policy than the container that it guards. The
/// closing brace is missing, so that a test can add fields.
const OPEN_SPEC_WITH_WEAK_CHECK: &str = r#"{"initContainers":[{"name":"imagecheck-0","image":"a:1","imagePullPolicy":"Never"}],
    "containers":[{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]"#;

/// A payload whose object has exactly this text as its Pod spec. The settings in the payload turn the record
/// off.
fn payload_with_pod_spec(spec: &str) -> String {
    format!(
        r#"{{"request":{{"kind":{{"group":"","kind":"Pod"}},"operation":"CREATE","object":{{"spec":{spec}}}}},"settings":{{"recordChanges":false}}}}"#
    )
}

/// The text of the changed object, before it is parsed as JSON.
fn changed_object_text(payload: &str) -> String {
    #[derive(serde::Deserialize)]
    struct ChangedObject<'a> {
        #[serde(borrow)]
        mutated_object: &'a RawValue,
    }
    let answer = validate::validate(payload.as_bytes(), &mut NoRegistry);
    let answer = String::from_utf8(answer.expect("an answer")).expect("UTF-8");
    let out: ChangedObject<'_> = serde_json::from_str(&answer).expect("a changed object");
    out.mutated_object.get().to_owned()
}

/// Checks that the spec is changed only by these replacements. Each has a text and the text in its place.
fn changes_only(spec: &str, replacements: &[(&str, &str)]) {
    let mut expected = spec.to_owned();
    for (before, after) in replacements {
        assert_eq!(expected.matches(before).count(), 1, "{before}");
        expected = expected.replace(before, after);
    }
    let changed = changed_object_text(&payload_with_pod_spec(spec));
    assert_eq!(changed, format!(r#"{{"spec":{expected}}}"#));
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
        changes_only(&spec, &[("\"Never\"", "\"IfNotPresent\"")]);
    }
}

#[test]
fn a_missing_pull_policy_becomes_the_first_member() {
    changes_only(
        r#"{"initContainers":[{"image" : "a:1\u0031" , "name":"imagecheck-0"}],
        "containers":[{"name":"a","image":"a:11","imagePullPolicy":"Always"}]}"#,
        &[
            (r#""Always""#, r#""IfNotPresent""#),
            (r#"{"image" :"#, r#"{"imagePullPolicy":"Always","image" :"#),
        ],
    );
}

/// If an object has a key twice, the decoders of the API server and of policy-server use the last value too.
#[test]
fn the_last_of_equal_keys_counts() {
    changes_only(
        r#"{"initContainers":[{"name":"imagecheck-0","image":"b:1","image":"a:1","imagePullPolicy":"Always","imagePullPolicy":"Never"}],
        "containers":[],"containers":[{"name":"x","name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]}"#,
        &[(r#""Never""#, r#""IfNotPresent""#)],
    );
    let settings = Settings::read(br#"{"mode":"fix","mode":"Reject","mode":"Warn"}"#);
    assert_eq!(settings.map(|settings| settings.mode), Ok(PolicyMode::Warn));
}

#[test]
fn the_object_may_come_before_its_kind_in_the_request() {
    let payload = format!(
        r#"{{"settings":{{"recordChanges":false}},"request":{{"object":{{"spec":{OPEN_SPEC_WITH_WEAK_CHECK}}}}},"operation":"CREATE","kind":{{"kind":"Pod"}}}}}}"#
    );
    assert!(changed_object_text(&payload).contains(r#""a:1","imagePullPolicy":"IfNotPresent"}],"#));
}

/// kwctl doesn't send a request with these values. The API server, too, reads `null` as not set.
#[test]
fn null_means_not_set() {
    let spec = r#"{"containers":[{"name":"a","image":"a:1"}]}"#;
    let payload = payload_with_pod_spec(spec).replace(
        r#""operation""#,
        r#""userInfo":null,"subResource":null,"oldObject":null,"operation""#,
    );
    assert_eq!(answer_to_payload(&payload)["accepted"], true);
}

#[test]
fn a_payload_without_a_complete_request_is_rejected() {
    let broken_escape = payload_with_pod_spec(r#"{"containers":[{"name":"a","image":"\ud800"}]}"#);
    let escaped_key = payload_with_pod_spec(r#"{"\u0069nitContainers":{}}"#);
    for (payload, expected) in [
        ("", "the request is not JSON"),
        ("[]", "the request must be an object, not a list"),
        ("{}", "request is missing"),
        (r#"{"request":{}}"#, "request.kind is missing"),
        (r#"{"request":{"kind":{}}}"#, "request.kind.kind is missing"),
        (
            r#"{"request":{"kind":{"kind":"Pod"},"operation":1}}"#,
            "request.operation must be a string, not a number",
        ),
        (
            &broken_escape,
            "spec.containers[0].image has an escape of no character",
        ),
        (
            &escaped_key,
            "spec.initContainers must be a list, not an object",
        ),
    ] {
        let answer = answer_to_payload(payload);
        assert_eq!(answer["accepted"], false, "{payload}");
        assert_eq!(answer["message"], expected, "{payload}");
    }
}

#[test]
fn a_cut_request_is_rejected() {
    let payload = payload_with_pod_spec(&format!("{OPEN_SPEC_WITH_WEAK_CHECK}}}"));
    for end in 0..payload.len() {
        let cut = &payload[..end];
        assert_eq!(answer_to_payload(cut)["accepted"], false, "{cut}");
    }
}

/// kwctl itself refuses settings that are no object, so no row can send them.
#[test]
fn the_settings_have_to_be_an_object() {
    for (settings, kind) in [(r#""Fix""#, "a string"), ("[1]", "a list")] {
        let expected = format!("the settings must be an object, not {kind}");
        assert_eq!(settings_problems(settings), Some(expected));
    }
    for text in [
        "",
        "{",
        "{\"mode\"}",
        "{\"mode\":\"Fix\"",
        "nonsense",
        "{\"registry\":{]}",
        r#"{"imageChecks":{"template":{"command":"/x"}}}"#,
    ] {
        assert!(settings_problems(text).is_some(), "{text}");
        assert!(Settings::read(text.as_bytes()).is_err(), "{text}");
    }
}
