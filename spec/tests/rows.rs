//! Compares the crate with the answers that the built module gave to the rows of the end-to-end tests, sentences
//! included. `make replay`, `make check` and `make mutants` name the folder of these answers in `$TRANSCRIPTS`. `cargo test`
//! alone has no such answers, so it leaves this program out.

#[expect(dead_code, reason = "only the other tests read variables")]
mod common;

use std::sync::{Arc, Mutex};
use std::{env, fs};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use consistent_pull_policy_spec::differential::{HostCall, Policy};
use serde_json::{Value, json};

use common::Native;

/// A host that gives the recorded answers of registries, in the order of the lookups.
fn recorded(calls: &Value) -> Arc<HostCall> {
    let calls = calls.as_array().expect("calls").clone();
    let calls = Mutex::new(calls.into_iter());
    Arc::new(move |_: &str, operation: &str, payload: &[u8]| {
        let call = calls.lock().expect("calls").next();
        let call = call.ok_or("one lookup too many")?;
        assert_eq!(call["operation"], operation);
        assert_eq!(call["payload"].as_str().map(str::as_bytes), Some(payload));
        match call["answer"].as_str() {
            Some(answer) => Ok(answer.as_bytes().to_vec()),
            None => Err(call["error"].as_str().expect("an error").to_owned()),
        }
    })
}

/// The patch from one object to another in base64, as a host makes it.
fn patch(object: &Value, changed: &Value) -> String {
    let patch = json_patch::diff(object, changed);
    STANDARD.encode(serde_json::to_vec(&patch).expect("JSON"))
}

/// The parts of an answer that both forms of it have. `null` and a missing key are the same.
fn parts(answer: &Value, [accepted, audit]: [&str; 2], status: &Value) -> Value {
    json!([
        answer[accepted],
        answer["warnings"],
        answer[audit],
        answer["patch"],
        status["message"],
        status["code"],
    ])
}

fn json_of(answer: Result<Vec<u8>, String>) -> Value {
    serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
}

#[test]
fn the_crate_gives_the_answers_of_the_module() {
    let folder = env::var_os("TRANSCRIPTS").expect("`make replay` sets $TRANSCRIPTS");
    let mut count = 0;
    for file in fs::read_dir(folder).expect("transcripts") {
        let path = file.expect("a file").path();
        for line in fs::read_to_string(&path).expect("a transcript").lines() {
            let row: Value = serde_json::from_str(line).expect("JSON");
            let settings = row["settings"].to_string();
            let checked = json_of(Native.validate_settings(settings.as_bytes()));
            assert_eq!(checked["message"], row["refused"], "{settings}");
            count += 1;
            if checked["valid"] == false {
                continue;
            }
            // The text is a review or a bare request.
            let text = row["request"].as_str().expect("a text");
            let mut request: Value = serde_json::from_str(text).expect("JSON");
            if request["request"].is_object() {
                request = request["request"].take();
            }
            let payload = json!({"request": request, "settings": row["settings"]});
            let payload = payload.to_string();
            let host = recorded(&row["calls"]);
            let mut answer = json_of(Native.validate(payload.as_bytes(), host));
            if let Some(changed) = answer.get("mutated_object").filter(|one| !one.is_null()) {
                answer["patch"] = patch(&request["object"], changed).into();
            }
            let response = &row["response"];
            assert_eq!(
                parts(&answer, ["accepted", "audit_annotations"], &answer),
                parts(
                    response,
                    ["allowed", "auditAnnotations"],
                    &response["status"]
                ),
                "{}: {payload}",
                path.display()
            );
        }
    }
    assert!(count > 1000, "{count}");
}
