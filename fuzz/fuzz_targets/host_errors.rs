//! The host returns an error with any text for a lookup. `validate` then gives an answer that doesn't repeat a secret
//! from the error.
#![no_main]

use consistent_pull_policy::lookup::Client;
use consistent_pull_policy::validate;
use libfuzzer_sys::fuzz_target;
use oci_spec::image::ImageIndex;

const SECRET: &str = "s3cr3t-value";

/// Registries for which every lookup fails with an error that contains this text.
struct FailsWith<'t>(&'t str);

impl Client for FailsWith<'_> {
    fn digest(&mut self, _: &str) -> Result<String, String> {
        Err(format!("{SECRET}{}{SECRET}", self.0))
    }

    fn index(&mut self, _: &str) -> Result<Option<ImageIndex>, String> {
        Err(format!("{SECRET}{}{SECRET}", self.0))
    }
}

fuzz_target!(|text: &str| {
    let payload = br#"{
        "request": {"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE", "userInfo": {},
            "object": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
        "settings": {"registry": {"images": ["*"], "lookup": "Pin", "platform": "Reject", "onUnknown": "Reject"}}}"#;
    let answer = validate::validate(payload, &mut FailsWith(text)).expect("an answer");
    let answer = String::from_utf8(answer).expect("the answer is text");
    assert!(!answer.contains(SECRET), "{answer}");
});
