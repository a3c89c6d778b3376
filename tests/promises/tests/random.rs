//! Tries the promises with random cases. `CASES` is the number of cases, and `SEED` is the seed.

use std::ops::Range;
use std::sync::Arc;

use consistent_pull_policy_promises::generate::CHANGES;
use consistent_pull_policy_promises::policy::{HostCall, Native, Policy, payload};
use consistent_pull_policy_rows::{generator, keeps_promises};
use fastrand::Rng;
use serde_json::{Value, json};

/// The number in an environment variable, or else a default.
fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

// The cases are divided into two tests, because Cargo runs tests at the same time.

#[test]
fn the_first_half_of_the_random_cases_keeps_the_promises() {
    try_cases(0..number("CASES", 3_000) / 2);
}

#[test]
fn the_second_half_of_the_random_cases_keeps_the_promises() {
    let cases = number("CASES", 3_000);
    try_cases(cases / 2..cases);
}

fn try_cases(numbers: Range<u64>) {
    let (seed, generator) = (number("SEED", 30), generator().expect("the rows"));
    let failures =
        numbers.filter_map(|number| keeps_promises(&Native, &generator, seed, number).err());
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Objects and settings of any shape get an answer, and errors of a host with any text. No answer
/// repeats a secret of such an error.
#[test]
fn any_shape_gets_an_answer() {
    let generator = generator().expect("the rows");
    for number in 0..number("CASES", 3_000) {
        let case = generator.case(22, number, CHANGES, true);
        let random = &mut Rng::with_seed(number);
        let text: String = std::iter::repeat_with(|| random.char(..))
            .take(16)
            .collect();
        let host: Arc<HostCall> =
            Arc::new(move |_, _, _| Err(format!("h0st-s3cret{text}h0st-s3cret")));
        let read = |answer: Result<Vec<u8>, String>| -> Value {
            serde_json::from_slice(&answer.expect("an answer")).expect("the answer is JSON")
        };
        let judged = read(Native.validate_settings(case.settings.to_string().as_bytes()));
        let is_told = judged["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        assert!(
            judged["valid"] == true || is_told,
            "{judged}: {}",
            case.settings
        );
        for settings in [&case.settings, &json!({})] {
            let answer =
                read(Native.validate(&payload(&case.request, settings), Arc::clone(&host)));
            assert!(!answer.to_string().contains("h0st-s3cret"), "{answer}");
            let is_rejection = answer["code"] == 400 || answer["code"] == 422;
            assert!(answer["accepted"] == true || is_rejection, "{answer}");
        }
    }
}
