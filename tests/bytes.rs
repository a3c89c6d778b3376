//! Payloads that no program for JSON writes: unusual spellings of values, equal keys, and texts
//! that are cut or no JSON. The rows of the end-to-end tests can't state these.

use consistent_pull_policy::settings::{Mode, Settings};
use serde_json::Value;

use crate::common::{answer_to_payload, settings_problems};

/// The text of a Pod spec whose image check has a weaker pull policy than the container that it
/// guards. The closing brace is missing, so that a test can add fields.
const OPEN_SPEC_WITH_WEAK_CHECK: &str = r#"{"initContainers":[{"name":"imagecheck-0","image":"a:1","imagePullPolicy":"Never"}],
    "containers":[{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]"#;

/// A payload whose object has exactly this text as its Pod spec.
fn payload_with_pod_spec(spec: &str) -> String {
    format!(
        r#"{{"request":{{"kind":{{"group":"","kind":"Pod"}},"operation":"CREATE","object":{{"spec":{spec}}}}},"settings":{{}}}}"#
    )
}

/// Checks that the weak check of this Pod spec is raised to `IfNotPresent`, and that every other
/// value survives. A host compares the objects as `serde_json` reads them, and so does this
/// function.
fn only_the_check_is_raised(spec: &str) {
    let answer = answer_to_payload(&payload_with_pod_spec(spec));
    let mut expected: Value = serde_json::from_str(spec).expect("a Pod spec");
    expected["initContainers"][0]["imagePullPolicy"] = "IfNotPresent".into();
    assert_eq!(answer["mutated_object"]["spec"], expected, "{spec}");
}

#[test]
fn values_in_unusual_spellings_survive() {
    for rest in [
        r#""n":1.50,"exponent":1E40,"minus":-0.0,"huge":123456789012345678901234567890"#,
        r#""s":"\u00e9\/\ud83d\ude00\n","b":true,"z":null"#,
        "\n\t\"spaced\"  :\r\n [ 1 , 2 ]  ",
    ] {
        only_the_check_is_raised(&format!("{OPEN_SPEC_WITH_WEAK_CHECK},{rest}}}"));
    }
}

#[test]
fn escaped_keys_and_values_are_read() {
    only_the_check_is_raised(
        r#"{"initContainers":[{"name":"imagecheck\u002d0","imag\u0065":"a:\u0031","imagePullPolicy":"\u004eever"}],
        "containers":[{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]}"#,
    );
}

/// If an object has a key twice, the decoders of the API server and of policy-server use the last
/// value too.
#[test]
fn the_last_of_equal_keys_counts() {
    only_the_check_is_raised(
        r#"{"initContainers":[{"name":"imagecheck-0","image":"b:1","image":"a:1","imagePullPolicy":"Always","imagePullPolicy":"Never"}],
        "containers":[],"containers":[{"name":"x","name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]}"#,
    );
    let settings = Settings::check(br#"{"mode":"fix","mode":"Reject","mode":"Warn"}"#);
    assert_eq!(settings.map(|settings| settings.mode), Ok(Mode::Warn));
}

/// The sentence never shows a value of the request, because it may be a secret.
#[test]
fn a_payload_that_is_no_complete_request_is_rejected() {
    let broken_escape = payload_with_pod_spec(r#"{"containers":[{"name":"a","image":"\ud800"}]}"#);
    let too_large = payload_with_pod_spec(r#"{"containers":[],"number":1E400}"#);
    for payload in [
        "",
        "nonsense",
        "[]",
        "{}",
        r#"{"request":{}}"#,
        r#"{"request":{"kind":{}}}"#,
        r#"{"request":{"kind":{"kind":"Pod"},"operation":1}}"#,
        r#"{"request":{"kind":{"kind":"Pod"},"object":"one","object":"two"}}"#,
        &broken_escape,
        &too_large,
    ] {
        let answer = answer_to_payload(payload);
        assert_eq!(answer["accepted"], false, "{payload}");
        assert_eq!(answer["code"], 400, "{payload}");
        let message = answer["message"].as_str().expect("a message");
        let (beginning, end) = message.split_once(" at line 1, column ").expect(message);
        assert_eq!(beginning, "the request can't be read");
        let end = end.trim_start_matches(|c: char| c.is_ascii_digit());
        assert_eq!(
            end,
            ": send an AdmissionRequest of admission/v1 as request, and the policy's settings as settings"
        );
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
    for settings in [r#""Fix""#, "1", "true", "[1]"] {
        let problem = settings_problems(settings).expect(settings);
        assert!(problem.starts_with("the settings: "), "{problem}");
    }
    for text in [
        "",
        "{",
        "{\"mode\"}",
        "{\"mode\":\"Fix\"",
        "{\"registry\":{]}",
    ] {
        let problem = settings_problems(text).expect(text);
        assert!(
            problem.starts_with("the settings are no valid JSON at line 1, column "),
            "{problem}"
        );
    }
}
