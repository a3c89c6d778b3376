//! Findings: what the rules left different from what came in, as it is told.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Serialize;

use super::paths::Paths;
use crate::pod::{Place, Slot};
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
    found: Option<String>,
    expected: Option<String>,
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
pub(super) struct Audited<'f> {
    rule: &'static str,
    path: &'f str,
    container: Cow<'f, str>,
    image: Cow<'f, str>,
    found: Option<Cow<'f, str>>,
    expected: Option<Cow<'f, str>>,
}

/// All findings, in the order of the fields.
pub(super) fn findings<'w, 'p>(work: &'w Work<'p>, paths: &Paths) -> Vec<Finding<'w, 'p>> {
    let mut findings: BTreeMap<_, Finding<'w, 'p>> = BTreeMap::new();
    let mut add = |finding: Finding<'w, 'p>| {
        let number = findings.len();
        findings.insert((finding.order(), number), finding);
    };
    work.problems
        .iter()
        .for_each(|problem| add(of_problem(problem, paths)));
    for entry in &work.entries {
        of_image(entry, paths).into_iter().for_each(&mut add);
        of_policy(entry, paths).into_iter().for_each(&mut add);
    }
    work.added
        .iter()
        .for_each(|check| add(of_new_check(check, paths)));
    findings.into_values().collect()
}

fn of_problem<'w, 'p>(problem: &'w Problem<'p>, paths: &Paths) -> Finding<'w, 'p> {
    let place = problem.place;
    let policy = place.policy.map(PullPolicy::as_str);
    let slot = place.slot;
    let (path, found) = match &problem.field {
        Field::Image => (
            paths.before(place, slot.image_field()),
            Some(place.image_text().to_owned()),
        ),
        Field::Coverage => (paths.before(place, slot.image_field()), None),
        Field::Policy => (
            paths.before(place, slot.policy_field()),
            policy.map(str::to_owned),
        ),
        Field::Status { path, found } => (path.clone(), Some((*found).to_owned())),
    };
    Finding {
        place,
        path,
        found,
        expected: problem.expected.map(str::to_owned),
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
    Some(Finding {
        place: entry.place,
        path: paths.before(entry.place, entry.place.slot.image_field()),
        found: Some(entry.image().to_owned()),
        expected: Some(image.clone()),
        policies: policies(entry),
        advice: false,
        repairable: true,
        cause: Reason::Pin { image, digest },
    })
}

fn of_policy<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    let cause = entry.policy_finding()?;
    let (found, expected) = policies(entry);
    Some(Finding {
        place: entry.place,
        path: paths.before(entry.place, entry.place.slot.policy_field()),
        found: Some(found.to_owned()),
        expected: Some(expected.to_owned()),
        policies: (found, expected),
        advice: false,
        repairable: true,
        cause: Reason::Of(cause),
    })
}

fn of_new_check<'w, 'p>(check: &'w NewCheck<'p>, paths: &Paths) -> Finding<'w, 'p> {
    Finding {
        place: check.place,
        path: paths.before(check.place, check.place.slot.image_field()),
        found: None,
        expected: Some(format!("{} with {}", check.name, check.policy.as_str())),
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

    /// By list, index and field; what stands in the status comes last.
    fn order(&self) -> (bool, &'static str, usize, bool) {
        let in_status = self.path.starts_with("status.");
        let slot = self.place.slot;
        // In a volume `image.pullPolicy` comes before `image.reference`.
        let is_policy = self.path.ends_with(slot.policy_field());
        let is_second = is_policy != (slot == Slot::ImageVolume);
        (in_status, slot.list(), self.place.index, is_second)
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

    pub(super) fn audited(&self) -> Audited<'_> {
        fn cut(text: &str) -> Cow<'_, str> {
            shorten(text, AUDITED_MAX)
        }
        Audited {
            rule: self.rule().id(),
            path: &self.path,
            container: cut(&self.place.name.value),
            image: cut(self.place.image_text()),
            found: self.found.as_deref().map(cut),
            expected: self.expected.as_deref().map(cut),
        }
    }
}
