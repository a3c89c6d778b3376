//! Payloads that no program for JSON writes: texts that are cut or no JSON. The rows of the
//! end-to-end tests can't state these.

use crate::common::{answer_to_payload, settings_problems};

/// A payload whose object has exactly this text as its Pod spec.
fn payload_with_pod_spec(spec: &str) -> String {
    format!(
        r#"{{"request":{{"kind":{{"group":"","kind":"Pod"}},"operation":"CREATE","object":{{"spec":{spec}}}}},"settings":{{}}}}"#
    )
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
