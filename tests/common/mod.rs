//! Helpers that the tests share: the answers of this policy.

use std::sync::Arc;

use consistent_pull_policy::validate;
use consistent_pull_policy_promises::policy::{Native, Policy as _};
use serde_json::Value;

/// The answer of this policy to a payload, if no registry answers. A host sends a request and the
/// settings in one payload.
pub(crate) fn answer_to_payload(payload: &str) -> Value {
    let answer = Native.validate(
        payload.as_bytes(),
        Arc::new(|_, _, _| Err("no registry".to_owned())),
    );
    serde_json::from_slice(&answer.expect("an answer")).expect("the answer is JSON")
}

/// The message about wrong settings. `None` if the settings are valid.
pub(crate) fn settings_problems(settings: &str) -> Option<String> {
    let answer = validate::validate_settings(settings.as_bytes()).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    match answer["valid"].as_bool() {
        Some(true) => None,
        _ => Some(answer["message"].as_str().expect("a message").to_owned()),
    }
}
