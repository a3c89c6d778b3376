//! Findings: what the rules left different from what came in, as it is told.

use super::changes::write_optional;
use super::paths::Paths;
use crate::json::write_string;
use crate::pod::Place;
use crate::rules::missing_check::NewCheck;
use crate::rules::{
    Cause, Entry, Problem, Rule, Told, Work, default, disallowed_policy, invalid_image,
    missing_check, registry, weak_check,
};
use crate::sentence::{Names, fill, shorten};

/// The longest text of an object that an audit annotation repeats, in characters.
const AUDITED_MAX: usize = 512;

/// One thing wrong, as it is told.
pub(super) struct Finding<'w, 'p> {
    pub(super) rule: Rule,
    pub(super) path: String,
    pub(super) found: Option<String>,
    pub(super) expected: Option<String>,
    pub(super) advice: bool,
    pub(super) at: At<'w, 'p>,
}

/// What a finding is about.
pub(super) enum At<'w, 'p> {
    Image(&'w Entry<'p>),
    Policy(&'w Entry<'p>, &'w Cause<'p>),
    Problem(&'w Problem<'p>),
    NewCheck(&'w NewCheck<'p>),
}

/// All findings, in no order.
pub(super) fn findings<'w, 'p>(work: &'w Work<'p>, paths: &Paths) -> Vec<Finding<'w, 'p>> {
    let mut findings = Vec::new();
    for problem in &work.problems {
        findings.push(of_problem(problem, paths));
    }
    for entry in &work.entries {
        findings.extend(of_image(entry, paths));
        findings.extend(of_policy(entry, paths));
    }
    for check in &work.added {
        findings.push(Finding {
            rule: Rule::MissingCheck,
            path: paths.before(check.place, check.place.slot.image_field()),
            found: None,
            expected: Some(fill("{} with {}", &[&check.name, check.policy.as_str()])),
            advice: false,
            at: At::NewCheck(check),
        });
    }
    findings
}

fn of_problem<'w, 'p>(problem: &'w Problem<'p>, paths: &Paths) -> Finding<'w, 'p> {
    let place = problem.place;
    let policy = || place.policy.map(|policy| policy.as_str().to_owned());
    let (field, found, expected) = match &problem.cause {
        Cause::DisallowedPolicy(disallowed) => {
            let expected = match disallowed {
                disallowed_policy::Disallowed::Require(_) => Some("Always"),
                disallowed_policy::Disallowed::Forbid(_) => Some("IfNotPresent"),
                disallowed_policy::Disallowed::Conflict(..) => None,
            };
            (
                place.slot.policy_field(),
                policy(),
                expected.map(str::to_owned),
            )
        }
        Cause::WeakCheck(_) => (place.slot.policy_field(), policy(), None),
        Cause::MissingCheck(_) => (
            place.slot.image_field(),
            None,
            Some("an image check".to_owned()),
        ),
        _ => (
            place.slot.image_field(),
            Some(place.image_text().to_owned()),
            None,
        ),
    };
    Finding {
        rule: problem.cause.rule(),
        path: paths.before(place, field),
        found,
        expected,
        advice: problem.advice,
        at: At::Problem(problem),
    }
}

/// The finding of an image that is to be pinned; the policy that goes with it is part of it.
fn of_image<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    entry.pinned.as_ref()?;
    Some(Finding {
        rule: Rule::Registry,
        path: paths.before(entry.place, entry.place.slot.image_field()),
        found: Some(entry.image().to_owned()),
        expected: Some(entry.image_after()),
        advice: false,
        at: At::Image(entry),
    })
}

fn of_policy<'w, 'p>(entry: &'w Entry<'p>, paths: &Paths) -> Option<Finding<'w, 'p>> {
    let cause = entry.policy_cause.as_ref()?;
    let is_part_of_another = matches!(
        cause,
        Cause::PullOnce | Cause::Registry(registry::Outcome::Pinned)
    );
    if is_part_of_another || !entry.policy_changed() {
        return None;
    }
    Some(Finding {
        rule: cause.rule(),
        path: paths.before(entry.place, entry.place.slot.policy_field()),
        found: Some(entry.policy_before().as_str().to_owned()),
        expected: Some(entry.policy.as_str().to_owned()),
        advice: false,
        at: At::Policy(entry, cause),
    })
}

impl Finding<'_, '_> {
    pub(super) fn place(&self) -> &Place<'_> {
        match self.at {
            At::Image(entry) | At::Policy(entry, _) => entry.place,
            At::Problem(problem) => problem.place,
            At::NewCheck(check) => check.place,
        }
    }

    fn told(&self) -> Told<'_> {
        let place = self.place();
        let (found, expected) = match self.at {
            At::Image(entry) | At::Policy(entry, _) => {
                (entry.policy_before().as_str(), entry.policy.as_str())
            }
            At::Problem(problem) => (
                problem.place.policy.map_or("no policy", |p| p.as_str()),
                match &problem.cause {
                    Cause::DisallowedPolicy(disallowed_policy::Disallowed::Forbid(_)) => {
                        "IfNotPresent"
                    }
                    _ => "Always",
                },
            ),
            At::NewCheck(_) => ("", ""),
        };
        Told {
            name: &place.name,
            image: place.image_text(),
            found,
            expected,
        }
    }

    /// What is wrong, and the way out.
    pub(super) fn sentence(&self, names: Names) -> String {
        let told = self.told();
        let (cause, repairable) = match self.at {
            At::NewCheck(check) => return missing_check::sentence_of_new(check, names),
            At::Image(entry) => {
                let digest = entry.pinned.as_deref().unwrap_or_default();
                return registry::sentence_of_pin(&told, &entry.image_after(), digest, names);
            }
            At::Problem(problem) => (&problem.cause, false),
            At::Policy(_, cause) => (cause, true),
        };
        match cause {
            Cause::InvalidImage(invalid) => {
                invalid_image::sentence(&self.path, told.name, told.image, *invalid, names)
            }
            Cause::Default(setting) => default::sentence(&told, *setting, names),
            Cause::DisallowedPolicy(disallowed) => {
                disallowed_policy::sentence(&told, disallowed, repairable, names)
            }
            Cause::Registry(outcome) => registry::sentence(&told, outcome, names),
            Cause::WeakCheck(stronger) if repairable => {
                weak_check::sentence(&told, *stronger, names)
            }
            Cause::WeakCheck(stronger) => weak_check::conflict(&told, *stronger, names),
            Cause::MissingCheck(uncovered) => missing_check::sentence(&told, *uncovered, names),
            Cause::PullOnce => String::new(),
        }
    }

    /// Whether the repair is worth a warning: what a person set was changed. Defaults and pins are
    /// what the operator asked for everywhere, and are recorded only.
    pub(super) fn is_worth_a_warning(&self) -> bool {
        matches!(
            self.at,
            At::NewCheck(_) | At::Policy(_, Cause::WeakCheck(_) | Cause::DisallowedPolicy(_))
        )
    }

    /// The repair, where it is worth a warning.
    pub(super) fn repaired(&self, names: Names) -> Option<String> {
        let told = self.told();
        match self.at {
            At::NewCheck(check) => Some(missing_check::repaired(check, names)),
            At::Policy(_, Cause::WeakCheck(stronger)) => {
                Some(weak_check::repaired(&told, *stronger, names))
            }
            At::Policy(_, Cause::DisallowedPolicy(disallowed)) => {
                Some(disallowed_policy::repaired(&told, disallowed, names))
            }
            At::Problem(_) | At::Image(_) | At::Policy(..) => None,
        }
    }
}

pub(super) fn finding_json(finding: &Finding<'_, '_>) -> Vec<u8> {
    let place = finding.place();
    let cut = |text: &Option<String>| {
        text.as_ref()
            .map(|text| shorten(text, AUDITED_MAX).into_owned())
    };
    let mut out = br#"{"rule":"#.to_vec();
    write_string(&mut out, finding.rule.id());
    out.extend_from_slice(br#","path":"#);
    write_string(&mut out, &finding.path);
    out.extend_from_slice(br#","container":"#);
    write_string(&mut out, &shorten(&place.name, AUDITED_MAX));
    out.extend_from_slice(br#","image":"#);
    write_string(&mut out, &shorten(place.image_text(), AUDITED_MAX));
    out.extend_from_slice(br#","found":"#);
    write_optional(&mut out, cut(&finding.found).as_deref());
    out.extend_from_slice(br#","expected":"#);
    write_optional(&mut out, cut(&finding.expected).as_deref());
    out.push(b'}');
    out
}
