//! The operation `validate_settings`: any bytes are valid settings, or the answer has a message.
//! Valid settings can be read by `validate`.
#![no_main]

use consistent_pull_policy::evaluate;
use consistent_pull_policy::settings::Settings;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|settings: &[u8]| {
    let answer = evaluate::validate_settings(settings).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    if answer["valid"] == true {
        Settings::read(settings).expect("valid settings can be read");
    } else {
        assert!(
            answer["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
    }
});
