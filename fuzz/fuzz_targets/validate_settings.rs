//! For any input bytes, `validate_settings` either accepts them as settings or answers with a message. `validate` can
//! read all accepted settings.
#![no_main]

use consistent_pull_policy::lookup::Client;
use consistent_pull_policy::validate;
use libfuzzer_sys::fuzz_target;
use oci_spec::image::ImageIndex;
use serde_json::{Value, json};

/// Registries that know no image.
struct Empty;

impl Client for Empty {
    fn digest(&mut self, _: &str) -> Result<String, String> {
        Err("code: 404".to_owned())
    }

    fn index(&mut self, _: &str) -> Result<Option<ImageIndex>, String> {
        Ok(None)
    }
}

fuzz_target!(|settings: &[u8]| {
    let answer = validate::validate_settings(settings).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    if answer["valid"] == true {
        let settings: Value = serde_json::from_slice(settings).expect("valid settings are JSON");
        let request = json!({
            "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "userInfo": {},
            "object": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}},
        });
        let payload = json!({"request": request, "settings": settings}).to_string();
        let answer = validate::validate(payload.as_bytes(), &mut Empty).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
        assert_ne!(answer["code"], 400, "{answer}");
    } else {
        assert!(answer["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
});
