//! For any input bytes, `validate_settings` either accepts them as settings or answers with a
//! message. `validate` can read all accepted settings.
#![no_main]

use consistent_pull_policy::validate;
use consistent_pull_policy::settings::Settings;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|settings: &[u8]| {
    let answer = validate::validate_settings(settings).expect("an answer");
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
