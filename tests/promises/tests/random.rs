//! Tries the promises with random cases, each with one event. `CASES` is the number of cases, and
//! `SEED` is the seed.

use std::ops::Range;

use crate::number;
use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::random::keeps_promises;

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

fn try_cases(mut numbers: Range<u64>) {
    let seed = number("SEED", 30);
    let failure = numbers.find_map(|number| keeps_promises(&Native, seed, number).err());
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}
