//! The operation `validate`: any payload gets an answer in JSON.
#![no_main]

use consistent_pull_policy::lookup::Client;
use consistent_pull_policy::validate;
use libfuzzer_sys::fuzz_target;
use oci_spec::image::ImageIndex;
use serde_json::Value;

/// Registries that have an image if its reference has an even length. Other lookups fail.
struct HasEvenNames;

impl Client for HasEvenNames {
    fn digest(&mut self, image: &str) -> Result<String, String> {
        if image.len().is_multiple_of(2) {
            Ok(format!("sha256:{}", "1".repeat(64)))
        } else {
            Err("code: 503".to_owned())
        }
    }

    fn index(&mut self, _: &str) -> Result<Option<ImageIndex>, String> {
        Ok(None)
    }
}

fuzz_target!(|payload: &[u8]| {
    let answer = validate::validate(payload, &mut HasEvenNames).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    assert!(answer["accepted"].is_boolean());
    // At CREATE without lookups, a second run accepts the changed object without a change.
    let Ok(mut payload) = serde_json::from_slice::<Value>(payload) else {
        return;
    };
    let object = &answer["mutated_object"];
    if object.is_null()
        || payload["request"]["operation"] != "CREATE"
        || !payload["settings"]["registry"].is_null()
    {
        return;
    }
    payload["request"]["object"] = object.clone();
    let again =
        validate::validate(payload.to_string().as_bytes(), &mut HasEvenNames).expect("an answer");
    let again: Value = serde_json::from_slice(&again).expect("the answer is JSON");
    assert!(again["accepted"] == true && again["mutated_object"].is_null());
});
