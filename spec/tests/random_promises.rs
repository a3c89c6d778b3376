//! Checks that this policy keeps its promises for random cases, each with one [`Event`]. The tests
//! call this policy's crate, compiled for this machine.

use std::ops::Range;

use crate::common::{Native, number};
use consistent_pull_policy_spec::events::{Event, Webhook};
use consistent_pull_policy_spec::generate::{Case, bytes, case, shrink};
use consistent_pull_policy_spec::json::{LISTS, elements};
use consistent_pull_policy_spec::promises::{BrokenPromise, broken_promises};
use serde_json::{Value, json};

/// The number of cases in `make test`.
const CASES: u64 = 20_000;
const SEED: u64 = 30;

/// The event of a case. In at least half of the cases, the Pod is only created.
fn event(number: u64) -> Event {
    let half = usize::try_from(number / 2).unwrap_or_default();
    if number.is_multiple_of(2) {
        Event::Created
    } else {
        Event::ALL[half % Event::ALL.len()]
    }
}

/// Whether an object has a `spec` in which every container and volume is an object.
fn has_shape_of_pod(object: &Value) -> bool {
    let spec = &object["spec"];
    let is_list = |list: &&str| {
        let is_there = spec[*list].is_array() || spec[*list].is_null();
        is_there && elements(spec, list).iter().all(Value::is_object)
    };
    spec.is_object() && LISTS.iter().all(is_list)
}

/// Exempts the images of meshes. In a cluster with a mesh, an operator's settings have to exempt these
/// images too: see docs/your-own-checks.md.
fn exempt_meshes(settings: &mut Value) {
    // `exempt` may be `[]`, which means that it is not set.
    if !settings["exempt"].is_object() {
        settings["exempt"] = json!({});
    }
    let images = &mut settings["exempt"]["images"];
    let mut patterns = images.as_array().cloned().unwrap_or_default();
    patterns.extend(["docker.io/istio/*", "cr.l5d.io/linkerd/*"].map(Value::from));
    *images = patterns.into();
}

/// The promises that a case breaks. An event other than the creation is tried only if the object has the
/// shape of a Pod and is not being deleted.
fn broken(case: &Case, event: Event) -> Vec<BrokenPromise> {
    let object = &case.request["object"];
    let is_alive = object["metadata"]["deletionTimestamp"].is_null();
    if event != Event::Created && !(is_alive && has_shape_of_pod(object)) {
        return Vec::new();
    }
    let mut case = case.clone();
    if let Event::ChangedBetween(Webhook::Mesh(_)) = event {
        exempt_meshes(&mut case.settings);
    }
    broken_promises(&Native, &case, event).unwrap_or_else(|problem| {
        panic!(
            "{problem}\nsettings {}\nrequest {}",
            case.settings, case.request
        )
    })
}

// The cases are divided into two tests, because Cargo runs tests at the same time.

#[test]
fn the_first_half_of_the_random_cases_keeps_the_promises() {
    let cases = number("CASES", CASES);
    keep_the_promises(0..cases / 2);
}

#[test]
fn the_second_half_of_the_random_cases_keeps_the_promises() {
    let cases = number("CASES", CASES);
    keep_the_promises(cases / 2..cases);
}

/// Environment variables control the tests. `CASES` is the number of cases, and `SEED` is the seed.
/// The first case that breaks a promise is shrunk and printed.
fn keep_the_promises(numbers: Range<u64>) {
    let seed = number("SEED", SEED);
    for number in numbers {
        let (bytes, event) = (bytes(seed, number), event(number));
        let first = broken(&case(&bytes), event);
        let Some(promise) = first.first().map(|one| one.promise) else {
            continue;
        };
        let breaks = |case: &Case| {
            let mut broken = broken(case, event).into_iter();
            broken.find(|one| one.promise == promise)
        };
        let small = case(&shrink(&bytes, |case| breaks(case).is_some()));
        panic!(
            "{promise}, seed {seed}, case {number}, event {event:?}\n    {}\n    settings {}\n    \
             request {}\n    answers {:?}",
            breaks(&small).map(|one| one.details).unwrap_or_default(),
            small.settings,
            small.request,
            small.answers,
        );
    }
}
