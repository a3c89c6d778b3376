//! Globs: this policy and the specification agree on whether a pattern matches a text. The first
//! line of the input is the pattern, and the rest is the text.
#![no_main]

use consistent_pull_policy::pattern::ContainerPattern;
use consistent_pull_policy_spec::pattern::glob;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let Some((pattern, text)) = data.split_once('\n') else {
        return;
    };
    // `?` matches one byte in this policy and one character in the specification. Names are ASCII,
    // so both are the same there.
    if !data.is_ascii() || pattern.len() > 100 {
        return;
    }
    if let Ok(accepted) = ContainerPattern::try_from(pattern.to_owned()) {
        assert_eq!(accepted.matches(text), glob(pattern, text));
    }
});
