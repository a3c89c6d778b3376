//! Checks that this policy keeps its promises for random cases with random events in the Pod's
//! life. This policy runs as a crate, compiled for this machine.
//!
//! Today's module breaks promises for some Pods. `test_data/pods/known.yaml` lists the traits of
//! these Pods, each with the promise. A promise is not checked for a case with a trait that is
//! listed for it. `UPDATE_KNOWN=1` writes the list.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::Native;
use consistent_pull_policy_spec::corpus::{Known, KnownTrait};
use consistent_pull_policy_spec::events::Event;
use consistent_pull_policy_spec::generate::{Case, bytes, case, shrink};
use consistent_pull_policy_spec::promises::{BrokenPromise, broken_promises};
use consistent_pull_policy_spec::traits::{names, traits};
use serde_json::{Value, json};

/// The number of cases in `make test`. The list of known failures is made from the same number of
/// cases.
const CASES: u64 = 20_000;
const SEED: u64 = 30;

/// A case that breaks promises.
struct Failure {
    number: u64,
    event: Event,
    broken: Vec<BrokenPromise>,
    traits: BTreeSet<&'static str>,
}

/// The event of a case. For half of the Pods the event is only their creation.
fn event(number: u64) -> Event {
    let half = usize::try_from(number / 2).unwrap_or_default();
    if number.is_multiple_of(2) {
        Event::Created
    } else {
        Event::ALL[half % Event::ALL.len()]
    }
}

/// Whether every container and volume of a Pod is an object.
fn has_shape_of_pod(object: &Value) -> bool {
    let lists = [
        "containers",
        "initContainers",
        "ephemeralContainers",
        "volumes",
    ];
    object["spec"].is_object()
        && lists.iter().all(|list| match &object["spec"][*list] {
            Value::Null => true,
            Value::Array(entries) => entries.iter().all(Value::is_object),
            _ => false,
        })
}

/// Exempts the containers of meshes. Settings in a cluster with a mesh have to do the same (issue
/// 20, item 2).
fn exempt_meshes(settings: &mut Value) {
    // `[]` means that the setting is not set.
    if !settings["exempt"].is_object() {
        settings["exempt"] = json!({});
    }
    let images = &mut settings["exempt"]["images"];
    let mut patterns = images.as_array().cloned().unwrap_or_default();
    patterns.extend(["docker.io/istio/*", "cr.l5d.io/linkerd/*"].map(Value::from));
    *images = patterns.into();
}

/// The promises that a case breaks. An event other than the creation is tried only if the Pod's
/// shape is not broken and the Pod is not being deleted.
fn broken(case: &Case, event: Event) -> Vec<BrokenPromise> {
    let object = &case.request["object"];
    let is_alive = object["metadata"]["deletionTimestamp"].is_null();
    if event != Event::Created && !(is_alive && has_shape_of_pod(object)) {
        return Vec::new();
    }
    let mut case = case.clone();
    if let Event::InjectedBetween(_) | Event::InjectedBefore(_) = event {
        exempt_meshes(&mut case.settings);
    }
    broken_promises(&Native, &case, event).unwrap_or_else(|problem| {
        panic!(
            "{problem}\nsettings {}\nrequest {}",
            case.settings, case.request
        )
    })
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The smallest case that breaks the same promise and has no trait beyond those of the given case.
fn smallest(failure: &Failure, promise: &str) -> (Case, String) {
    let breaks = |case: &Case| {
        let has_other = !traits(case, failure.event).is_subset(&failure.traits);
        let broken = if has_other {
            Vec::new()
        } else {
            broken(case, failure.event)
        };
        broken.into_iter().find(|one| one.promise == promise)
    };
    let small = case(&shrink(&bytes(seed(), failure.number), |case| {
        breaks(case).is_some()
    }));
    let details = breaks(&small).map(|one| one.details).unwrap_or_default();
    (small, details)
}

fn seed() -> u64 {
    number("SEED", SEED)
}

fn told(failure: &Failure, promise: &str) -> String {
    let (small, details) = smallest(failure, promise);
    format!(
        "{promise}, seed {}, case {}, event {}, traits {:?}\n    {details}\n    settings {}\n    \
         request {}\n    answers {:?}\n",
        seed(),
        failure.number,
        failure.event.name(),
        traits(&small, failure.event),
        small.settings,
        small.request,
        small.answers,
    )
}

#[test]
fn random_cases_keep_the_promises_apart_from_the_known_failures() {
    let cases = number("CASES", CASES);
    let mut failures = Vec::new();
    let mut with_trait: BTreeMap<&str, usize> = BTreeMap::new();
    for number in 0..cases {
        let (case, event) = (case(&bytes(seed(), number)), event(number));
        let traits = traits(&case, event);
        for one in &traits {
            *with_trait.entry(one).or_default() += 1;
        }
        let broken = broken(&case, event);
        if !broken.is_empty() {
            failures.push(Failure {
                number,
                event,
                broken,
                traits,
            });
        }
    }
    let mut known = Known::read();
    if std::env::var_os("UPDATE_KNOWN").is_some() {
        let (found, unexplained) = explained(&failures, &with_trait);
        known.random = found;
        known.write().expect("the file of the known failures");
        assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
        return;
    }
    let is_known = |promise: &str, of_pod: &str| {
        known.random.contains(&KnownTrait {
            promise: promise.to_owned(),
            of_pod: of_pod.to_owned(),
        })
    };
    let mut unused = known.random.clone();
    let mut new: BTreeMap<&str, String> = BTreeMap::new();
    for failure in &failures {
        for one in &failure.broken {
            let listed = failure
                .traits
                .iter()
                .filter(|of_pod| is_known(one.promise, of_pod));
            let listed: Vec<_> = listed.collect();
            match listed[..] {
                [] => {
                    let tell = || told(failure, one.promise);
                    new.entry(one.promise).or_insert_with(tell);
                }
                // A case with two listed traits doesn't show which of them matters.
                [only] => {
                    unused.retain(|known| known.promise != one.promise || known.of_pod != **only);
                }
                _ => {}
            }
        }
    }
    let new: Vec<String> = new.into_values().collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    assert!(
        cases < CASES || unused.is_empty(),
        "known failures that no case shows any more, to be taken off the list with UPDATE_KNOWN=1: \
         {unused:#?}"
    );
}

/// The traits that explain the failures. For each promise, the first unexplained failure is made
/// small. Among the traits of this small case, the one whose cases fail most often is taken as an
/// explanation. It then explains all other failures with this trait.
fn explained(
    failures: &[Failure],
    with_trait: &BTreeMap<&str, usize>,
) -> (BTreeSet<KnownTrait>, Vec<String>) {
    let (mut known, mut unexplained) = (BTreeSet::new(), Vec::new());
    let mut by_promise: BTreeMap<&str, Vec<&Failure>> = BTreeMap::new();
    for failure in failures {
        let promises: BTreeSet<&str> = failure.broken.iter().map(|one| one.promise).collect();
        for promise in promises {
            by_promise.entry(promise).or_default().push(failure);
        }
    }
    for (promise, failures) in by_promise {
        let rate = |of_pod: &str| {
            let failing = failures
                .iter()
                .filter(|one| one.traits.contains(of_pod))
                .count();
            failing * 1_000_000 / with_trait.get(of_pod).copied().unwrap_or(1).max(1)
        };
        let mut left = failures.clone();
        while let Some(first) = left.first() {
            let (small, _) = smallest(first, promise);
            let candidates = traits(&small, first.event);
            let Some(of_pod) = candidates.iter().max_by_key(|of_pod| rate(of_pod)) else {
                unexplained.push(told(first, promise));
                break;
            };
            known.insert(KnownTrait {
                promise: promise.to_owned(),
                of_pod: (*of_pod).to_owned(),
            });
            left.retain(|one| !one.traits.contains(of_pod));
        }
    }
    (known, unexplained)
}

#[test]
fn the_list_of_known_failures_names_existing_traits() {
    for one in Known::read().random {
        assert!(names().any(|name| name == one.of_pod), "{one:?}");
    }
}
