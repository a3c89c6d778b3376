//! Tries the promises with random cases, made by changing the rows.

use anyhow::Result;
use consistent_pull_policy_promises::generate::{CHANGES, Case, Generator, shrink};
use consistent_pull_policy_promises::policy::Policy;
use consistent_pull_policy_promises::promises::broken_promises;

use crate::row::rows;

/// Makes cases of all rows with valid settings.
///
/// # Errors
/// If a row can't be read.
pub fn generator() -> Result<Generator> {
    let mut seeds = Vec::new();
    for row in rows()?.iter().filter(|row| !row.is_invalid()) {
        seeds.extend(row.cases()?.iter().map(crate::Case::promised));
    }
    Ok(Generator::new(seeds))
}

/// Tries the promises with the case that `seed` and `number` stand for.
///
/// # Errors
/// The broken promise, a smaller case that breaks it too, and how to repeat it.
pub fn keeps_promises(
    policy: &dyn Policy,
    generator: &Generator,
    seed: u64,
    number: u64,
) -> Result<(), String> {
    let breaks = |case: &Case| match broken_promises(policy, case) {
        Ok(broken) => broken
            .into_iter()
            .next()
            .map(|one| (one.promise, one.details)),
        Err(problem) => Some(("every-request-gets-an-answer", problem)),
    };
    let mut cases = (0..=CHANGES).map(|changes| generator.case(seed, number, changes, false));
    // The case itself has all changes. With fewer of them, it may break a promise too.
    let Some((promise, _)) = breaks(&generator.case(seed, number, CHANGES, false)) else {
        return Ok(());
    };
    let is_same = |case: &Case| breaks(case).is_some_and(|(other, _)| other == promise);
    let case = cases
        .find(is_same)
        .unwrap_or_else(|| unreachable!("the last one breaks it"));
    let small = shrink(case, is_same);
    let details = breaks(&small)
        .map(|(_, details)| details)
        .unwrap_or_default();
    Err(format!(
        "{promise}\n    {details}\n    settings {}\n    request {}\n    answers {:?}\n    \
         Repeat it: cargo run --profile xtask --package soak -- --seed {seed} --from {number} --cases 1",
        small.settings, small.request, small.answers,
    ))
}
