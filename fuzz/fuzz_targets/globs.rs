//! A pattern and a text, a line each: the policy's globs against the specification's.
#![no_main]

use consistent_pull_policy::pattern::ContainerPattern;
use consistent_pull_policy_spec::pattern::glob;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let Some((pattern, text)) = data.split_once('\n') else {
        return;
    };
    // `?` is a byte to one and a character to the other; names have no others than ASCII.
    if !data.is_ascii() || pattern.len() > 100 {
        return;
    }
    if let Ok(accepted) = ContainerPattern::try_from(pattern.to_owned()) {
        assert_eq!(accepted.matches(text), glob(pattern, text));
    }
});
