//! Sends this policy input of any shape. `CASES` is the number of random cases.

use std::sync::Arc;

use crate::number;
use consistent_pull_policy_promises::generate::{any_shape, bytes, case};
use consistent_pull_policy_promises::policy::{HostCall, Native, Policy, payload};
use serde_json::Value;

/// Objects and settings of any shape get an answer, and errors of a host with any text. No answer
/// repeats a secret of such an error.
#[test]
fn any_shape_gets_an_answer() {
    for number in 0..number("CASES", 3_000) {
        let case = case(&bytes(22, number));
        let text = String::from_utf8_lossy(&bytes(25, number)[..32]).into_owned();
        let host: Arc<HostCall> =
            Arc::new(move |_, _, _| Err(format!("h0st-s3cret{text}h0st-s3cret")));
        let settings = any_shape(&case.settings, &bytes(23, number));
        let judged = Native.validate_settings(settings.to_string().as_bytes());
        let judged: Value =
            serde_json::from_slice(&judged.expect("an answer")).expect("the answer is JSON");
        let is_told = judged["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        assert!(judged["valid"] == true || is_told, "{judged}: {settings}");
        let mut request = case.request.clone();
        request["object"] = any_shape(&request["object"], &bytes(24, number));
        for settings in [&case.settings, &settings] {
            let answer = Native.validate(&payload(&request, settings), Arc::clone(&host));
            let answer: Value =
                serde_json::from_slice(&answer.expect("an answer")).expect("the answer is JSON");
            assert!(!answer.to_string().contains("h0st-s3cret"), "{answer}");
            let is_rejection = answer["code"] == 400 || answer["code"] == 422;
            assert!(answer["accepted"] == true || is_rejection, "{answer}");
        }
    }
}
