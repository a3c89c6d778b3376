//! Tries the promises with one random case.

use crate::events::Event;
use crate::generate::{Case, bytes, case, shrink};
use crate::policy::Policy;
use crate::promises::broken_promises;

/// The event of a case. In at least half of the cases, the Pod is only created.
#[must_use]
pub fn event(number: u64) -> Event {
    let half = usize::try_from(number / 2).unwrap_or_default();
    if number.is_multiple_of(2) {
        Event::Created
    } else {
        Event::ALL[half % Event::ALL.len()]
    }
}

/// Tries the promises with the case that `seed` and `number` stand for.
///
/// # Errors
/// The broken promise, a smaller case that breaks it too, and how to repeat it.
pub fn keeps_promises(policy: &dyn Policy, seed: u64, number: u64) -> Result<(), String> {
    let (bytes, event) = (bytes(seed, number), event(number));
    let Some((promise, _)) = broken(policy, &case(&bytes), event) else {
        return Ok(());
    };
    let breaks = |case: &Case| {
        let broken = broken(policy, case, event);
        broken.filter(|(other, _)| *other == promise)
    };
    let small = case(&shrink(&bytes, |case| breaks(case).is_some()));
    let details = breaks(&small)
        .map(|(_, details)| details)
        .unwrap_or_default();
    Err(format!(
        "{promise}\n    {details}\n    event {event:?}\n    settings {}\n    request {}\n    \
         answers {:?}\n    Repeat it: cargo run --profile xtask --package soak -- --seed {seed} --from {number} --cases 1",
        small.settings, small.request, small.answers,
    ))
}

/// The first promise that a case breaks, and the details.
fn broken(policy: &dyn Policy, case: &Case, event: Event) -> Option<(&'static str, String)> {
    match broken_promises(policy, case, event) {
        Ok(broken) => {
            let first = broken.into_iter().next();
            first.map(|one| (one.promise, one.details))
        }
        Err(problem) => Some(("every-request-gets-an-answer", problem)),
    }
}
