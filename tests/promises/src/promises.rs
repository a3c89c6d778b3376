//! The promises: statements about this policy that must hold for each request. Each promise has a
//! name and a function, in a list. A promise that doesn't apply to a case counts as kept.
//!
//! | list | promises about |
//! | --- | --- |
//! | [`answer::PROMISES`] | every answer by itself |
//! | [`lookups::PROMISES`] | what an answer asks of registries |
//! | [`repair::PROMISES`] | the difference between the Pod that came in and the Pod that `Fix` returned |
//! | [`starts`] | how this Pod starts |
//! | [`runs::PROMISES`] | several answers: to the same request, and later in the Pod's life |

mod answer;
mod lookups;
mod repair;
mod runs;
mod starts;

use std::cell::RefCell;

use serde_json::Value;

use crate::generate::Case;
use crate::json::{put, text};
use crate::policy::{Observed, Policy, accepts_settings, observe};
use crate::settings::Settings;
use crate::words::Pod;

/// The mark of a secret. Every secret in a Pod of the rows and of the corpus contains this text.
pub const SECRET: &str = "s3cr3t";

/// A promise that this policy broke for a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    /// The name of the promise.
    pub promise: &'static str,
    /// The proof: for example the wrong answer, or the field that must not change.
    pub details: String,
}

/// Whether a promise is kept. The error says how it is broken.
type Kept = Result<(), String>;

/// A promise about one answer: its name, and the function that tries it.
type OfAnswer = (&'static str, fn(&Answered<'_>) -> Kept);
/// A promise about a Pod that `Fix` returned.
type OfRepair = (&'static str, fn(&Repaired<'_>) -> Kept);
/// A promise about several answers.
type OfStory = (&'static str, fn(&Story<'_>) -> Kept);

/// Returns an error with these details unless a condition holds.
fn hold(is_kept: bool, details: impl FnOnce() -> String) -> Kept {
    if is_kept { Ok(()) } else { Err(details()) }
}

/// Returns the promises that this policy breaks for a case.
///
/// # Errors
/// If this policy gives no answer, or if it refuses the settings.
pub fn broken_promises(policy: &dyn Policy, case: &Case) -> Result<Vec<BrokenPromise>, String> {
    accepts_settings(policy, &case.settings)?;
    let mut story = Story {
        policy,
        case,
        first: Observed::default(),
        broken: RefCell::default(),
    };
    story.first = story.run(case.request.clone(), &[])?;
    if let Some(after) = story.repaired() {
        let repaired = Repaired::of(case, &story.first, &after);
        story
            .broken
            .borrow_mut()
            .extend(starts::broken(&repaired).0);
        for (promise, is_kept) in repair::PROMISES {
            story.check(promise, || is_kept(&repaired));
        }
    }
    for (promise, is_kept) in runs::PROMISES {
        story.check(promise, || is_kept(&story));
    }
    Ok(story.broken.into_inner())
}

/// Returns the promises about the start of the Pod that `Fix` returns for a case, as far as this
/// policy breaks them, the number of worlds in which they were tried, and the Pod. The mode has to
/// be `Fix`.
///
/// # Errors
/// If this policy gives no answer, or rejects the Pod.
pub fn broken_starts(
    policy: &dyn Policy,
    case: &Case,
) -> Result<(Vec<BrokenPromise>, usize, Value), String> {
    let observed = observe(policy, case)?;
    hold(observed.is_accepted(), || observed.told())?;
    let after = observed.object_after(&case.request);
    let (broken, worlds) = starts::broken(&Repaired::of(case, &observed, &after));
    Ok((broken, worlds, after))
}

/// A case, the first answer to it, and the promises that are broken so far.
struct Story<'c> {
    policy: &'c dyn Policy,
    case: &'c Case,
    first: Observed,
    broken: RefCell<Vec<BrokenPromise>>,
}

/// One answer, and what was asked.
struct Answered<'a> {
    case: &'a Case,
    observed: &'a Observed,
}

impl Answered<'_> {
    fn settings(&self) -> Settings<'_> {
        Settings(&self.case.settings)
    }
}

/// A Pod that came in at its creation, and the Pod that mode `Fix` returned.
struct Repaired<'r> {
    case: &'r Case,
    observed: &'r Observed,
    before: &'r Value,
    after: &'r Value,
    old: Pod<'r>,
    new: Pod<'r>,
}

impl<'r> Repaired<'r> {
    fn of(case: &'r Case, observed: &'r Observed, after: &'r Value) -> Self {
        let (before, settings) = (&case.request["object"], Settings(&case.settings));
        Self {
            case,
            observed,
            before,
            after,
            old: Pod::read(&before["spec"], settings),
            new: Pod::read(&after["spec"], settings),
        }
    }

    fn settings(&self) -> Settings<'_> {
        Settings(&self.case.settings)
    }
}

impl Story<'_> {
    fn settings(&self) -> Settings<'_> {
        Settings(&self.case.settings)
    }

    fn check(&self, promise: &'static str, is_kept: impl FnOnce() -> Kept) {
        if let Err(details) = is_kept() {
            self.broken
                .borrow_mut()
                .push(BrokenPromise { promise, details });
        }
    }

    /// Runs this policy on a request, with the settings of the case. First it writes each key and
    /// value of `changes` into these settings. Checks the promises about the answer.
    fn run(&self, request: Value, changes: &[(&str, Value)]) -> Result<Observed, String> {
        let mut case = self.case.clone();
        case.request = request;
        for (path, value) in changes {
            put(&mut case.settings, path, value.clone());
        }
        let observed = observe(self.policy, &case)?;
        let answered = Answered {
            case: &case,
            observed: &observed,
        };
        let promises = answer::PROMISES.iter().chain(&lookups::PROMISES);
        for (promise, is_kept) in promises {
            self.check(promise, || is_kept(&answered));
        }
        Ok(observed)
    }

    /// Runs this policy as `run` does. A rejection is an error.
    fn must_accept(&self, request: Value, changes: &[(&str, Value)]) -> Result<Observed, String> {
        let observed = self.run(request, changes)?;
        hold(observed.is_accepted(), || observed.told())?;
        Ok(observed)
    }

    /// Returns the case's request with `object` as its object.
    fn request_with(&self, object: Value) -> Value {
        let mut request = self.case.request.clone();
        request["object"] = object;
        request
    }

    /// Returns the Pod that the request creates, unless it says that it is a static Pod's mirror.
    fn created(&self) -> Option<&Value> {
        let (request, object) = (&self.case.request, &self.case.request["object"]);
        let annotations = &object["metadata"]["annotations"];
        let is_created = is_pod(request)
            && request["operation"] == "CREATE"
            && text(&request["subResource"]).is_empty()
            && annotations.get("kubernetes.io/config.mirror").is_none();
        is_created.then_some(object)
    }

    /// Returns the Pod that an API server would store after the first answer, which creates it.
    fn stored(&self) -> Option<Value> {
        self.created().filter(|_| self.first.is_accepted())?;
        Some(self.first.object_after(&self.case.request))
    }

    /// Returns the stored Pod if the mode is `Fix`.
    fn repaired(&self) -> Option<Value> {
        self.stored().filter(|_| self.settings().mode() == "Fix")
    }

    /// Whether a second run surely gets the same answers from registries as the first run: the
    /// first run must have skipped no lookup, and must have been below the limit for lookups.
    fn is_bounded(&self) -> bool {
        let failed = self.first.list("lookups");
        let calls = &self.first.calls;
        let was_asked = |image: &Value| calls.iter().any(|call| *call == *text(image));
        failed.iter().all(|lookup| was_asked(&lookup["image"])) && calls.len() < lookups::LIMIT
    }
}

fn is_pod(request: &Value) -> bool {
    let kind = &request["kind"];
    text(&kind["group"]).is_empty() && kind["kind"] == "Pod"
}

/// The Pod spec of an object: a Pod's own, or that of its template.
fn spec(object: &Value) -> &Value {
    let paths = [
        "/spec/jobTemplate/spec/template/spec",
        "/spec/template/spec",
        "/template/spec",
        "/spec",
    ];
    let mut specs = paths.iter().filter_map(|path| object.pointer(path));
    specs.next().unwrap_or(&Value::Null)
}
