//! Findings: what the rules left different from what came in, as it is told.

use std::borrow::Cow;
use std::rc::Rc;

use serde::{Serialize, Serializer};

use super::paths::{Order, Paths, in_order};
use crate::pod::Place;
use crate::pull_policy::PullPolicy;
use crate::rules::missing_check::NewCheck;
use crate::rules::registry::Pin;
use crate::rules::{Cause, Entry, Field, Problem, Rule, Told, Work};
use crate::sentence::{Names, shorten};

/// The longest text of an object that an audit annotation repeats, in characters.
const AUDITED_MAX: usize = 512;

/// One thing wrong.
pub(super) struct Finding<'w, 'p> {
    place: &'p Place<'p>,
    path: String,
    order: Order,
    found: Option<&'p str>,
    expected: Option<Cow<'p, str>>,
    /// What its policy was, and what it should be.
    policies: (&'static str, &'static str),
    pub(super) advice: bool,
    /// There is a repair.
    pub(super) repairable: bool,
    cause: Reason<'w, 'p>,
}

/// The reason, which most entries keep.
enum Reason<'w, 'p> {
    Of(&'w Rc<dyn Cause + 'p>),
    NewCheck(&'w NewCheck<'p>),
    Pin { image: String, digest: &'w str },
}

/// As it stands in the audit annotation.
#[derive(Serialize)]
struct Audited<'f> {
    rule: &'static str,
    path: &'f str,
    container: Cow<'f, str>,
    image: Cow<'f, str>,
    found: Option<Cow<'f, str>>,
    expected: Option<Cow<'f, str>>,
}

/// All findings, in the order of the fields.
pub(super) fn findings<'w, 'p>(work: &'w Work<'p>, paths: &Paths) -> Vec<Finding<'w, 'p>> {
    let mut findings = Vec::new();
    findings.extend(
        work.problems
            .iter()
            .map(|problem| of_problem(problem, paths)),
    );
    for entry in &work.entries {
        findings.extend(of_image(entry, paths));
        findings.extend(of_policy(entry, paths));
    }
    findings.extend(work.added.iter().map(|check| of_new_check(check, paths)));
    in_order(findings, |finding| finding.order)
}

fn of_problem<'w, 'p>(problem: &'w Problem<'p>, paths: &Paths) -> Finding<'w, 'p> {
    let place = problem.place;
    let policy = place.policy.map(PullPolicy::as_str);
    let slot = place.slot;
    let (field, found) = match &problem.field {
        Field::Image => (slot.image_field(), Some(place.image_text())),
        Field::Coverage => (slot.image_field(), None),
        Field::Policy => (slot.policy_field(), policy),
        Field::Status { found, .. } => (slot.image_field(), Some(*found)),
    };
    let status = match &problem.field {
        Field::Status { path, .. } => Some(path.clone()),
        Field::Image | Field::Coverage | Field::Policy => None,
    };
    Finding {
        place,
        order: Order::new(place, field, status.is_some()),
        path: status.unwrap_or_else(|| paths.before(place, field)),
        found,
        expected: problem.expected.map(Cow::Borrowed),
        policies: (
            policy.unwrap_or("no policy"),
            problem.expected.unwrap_or_default(),
        ),
        advice: problem.advice,
        repairable: false,
        cause: Reason::Of(&problem.cause),
    }
}

/// The finding of an image that is to be pinned; the policy that goes with it is part of it.
fn of_image<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    let digest = entry.digest.as_deref().filter(|_| entry.pinned)?;
    let image = entry.image_after();
    let field = entry.place.slot.image_field();
    Some(Finding {
        place: entry.place,
        order: Order::new(entry.place, field, false),
        path: paths.before(entry.place, field),
        found: Some(entry.image()),
        expected: Some(Cow::Owned(image.clone())),
        policies: policies(entry),
        advice: false,
        repairable: true,
        cause: Reason::Pin { image, digest },
    })
}

fn of_policy<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    let cause = entry.policy_finding()?;
    let (found, expected) = policies(entry);
    let field = entry.place.slot.policy_field();
    Some(Finding {
        place: entry.place,
        order: Order::new(entry.place, field, false),
        path: paths.before(entry.place, field),
        found: Some(found),
        expected: Some(Cow::Borrowed(expected)),
        policies: (found, expected),
        advice: false,
        repairable: true,
        cause: Reason::Of(cause),
    })
}

fn of_new_check<'w, 'p>(check: &'w NewCheck<'p>, paths: &Paths) -> Finding<'w, 'p> {
    let field = check.place.slot.image_field();
    let expected = format!("{} with {}", check.name, check.policy.as_str());
    Finding {
        place: check.place,
        order: Order::new(check.place, field, false),
        path: paths.before(check.place, field),
        found: None,
        expected: Some(Cow::Owned(expected)),
        policies: ("", check.policy.as_str()),
        advice: false,
        repairable: true,
        cause: Reason::NewCheck(check),
    }
}

fn policies(entry: &Entry<'_>) -> (&'static str, &'static str) {
    (entry.policy_before().as_str(), entry.policy.as_str())
}

impl Finding<'_, '_> {
    pub(super) fn rule(&self) -> Rule {
        self.with_cause(|cause| cause.rule())
    }

    fn with_cause<T>(&self, ask: impl Fn(&dyn Cause) -> T) -> T {
        match &self.cause {
            Reason::Of(cause) => ask(&***cause),
            Reason::NewCheck(check) => ask(*check),
            Reason::Pin { image, digest } => ask(&Pin { image, digest }),
        }
    }

    fn told(&self) -> Told<'_> {
        Told {
            path: &self.path,
            name: &self.place.name.value,
            image: self.place.image_text(),
            found: self.policies.0,
            expected: self.policies.1,
        }
    }

    /// What is wrong, and the way out.
    pub(super) fn sentence(&self, names: Names) -> String {
        self.with_cause(|cause| cause.sentence(&self.told(), names))
    }

    /// The repair, where it is worth a warning.
    pub(super) fn repaired(&self, names: Names) -> Option<String> {
        self.with_cause(|cause| cause.repaired(&self.told(), names))
    }

    fn audited(&self) -> Audited<'_> {
        fn cut(text: &str) -> Cow<'_, str> {
            shorten(text, AUDITED_MAX)
        }
        Audited {
            rule: self.rule().id(),
            path: &self.path,
            container: cut(&self.place.name.value),
            image: cut(self.place.image_text()),
            found: self.found.map(cut),
            expected: self.expected.as_deref().map(cut),
        }
    }
}

impl Serialize for Finding<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.audited().serialize(serializer)
    }
}
