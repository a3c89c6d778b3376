//! The answer of waPC's `validate`: message, warnings, audit annotations, and the edits of the object.

mod change;
mod edit;
mod list;
mod record;

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use kubewarden_policy_sdk::response::ValidationResponse;
use serde::Serialize;

use self::change::Change;
pub(crate) use self::edit::{Edit, apply};
use crate::examination::{Effect, Examination, FailedLookup, Finding, Place, Rule, Subject, Why};
use crate::request::Type;
use crate::settings::{Action, Mode, Templates};
use crate::shown::shown;

/// The status code of a rejection if trying again may help, and of every rejected UPDATE: `kubectl apply --force` and Flux's
/// `force` answer 422 there by deleting the object.
const BAD_REQUEST: u16 = 400;
/// The status code of a rejection if trying again doesn't help. Controllers that know this code fail at once and show the
/// message.
const UNPROCESSABLE_ENTITY: u16 = 422;

/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings` has more of them.
const SENTENCES_MAX: usize = 20;

/// A rejection. Its code is never 500, because an audit reads 500 as a failure of this policy itself.
#[derive(Debug)]
pub(crate) struct Rejection {
    /// The message for people.
    pub(crate) message: String,
    /// The status code.
    pub(crate) code: u16,
}

impl Rejection {
    /// The rejection of a request or of settings that can't be read.
    pub(crate) const fn unreadable(message: String) -> Self {
        Self {
            message,
            code: BAD_REQUEST,
        }
    }

    /// The rejection of an object of a wrong shape.
    pub(crate) fn malformed(message: String, creates: bool) -> Self {
        Self {
            message,
            code: code(creates, false),
        }
    }
}

const fn code(creates: bool, is_momentary: bool) -> u16 {
    if creates && !is_momentary {
        UNPROCESSABLE_ENTITY
    } else {
        BAD_REQUEST
    }
}

/// What happens with a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Rejects,
    Warns,
    IsRepaired,
}

impl Outcome {
    fn of(finding: &Finding<'_>, examination: &Examination<'_>) -> Self {
        let settings = examination.settings;
        let warns_template =
            examination.request.r#type == Type::Template && settings.templates != Templates::Reject;
        match (finding.effect, settings.mode) {
            (Effect::OnlyWarning, _) | (_, Mode::Warn) => Self::Warns,
            (Effect::Repairable, Mode::Fix) => Self::IsRepaired,
            (Effect::Repairable | Effect::NotRepairable, _) if warns_template => Self::Warns,
            (Effect::Repairable | Effect::NotRepairable, _) => Self::Rejects,
        }
    }
}

/// The answer to an examined request, without the changed object, and the edits of this object.
pub(crate) fn answer(examination: &Examination<'_>) -> (ValidationResponse, Vec<Edit>) {
    let findings = findings(examination);
    let with_outcome = |wanted| {
        findings
            .iter()
            .filter(move |finding| Outcome::of(finding, examination) == wanted)
    };
    let rejecting: Vec<&Finding<'_>> = with_outcome(Outcome::Rejects).collect();
    let is_rejected = !rejecting.is_empty();
    let is_template = examination.request.r#type == Type::Template;
    let is_repaired = examination.settings.mode == Mode::Fix && !is_rejected && !is_template;
    let changes = if is_repaired {
        change::changes(examination)
    } else {
        Vec::new()
    };
    let edits = if changes.is_empty() {
        Vec::new()
    } else {
        edit::edits(examination, &changes)
    };
    let is_momentary = rejecting
        .iter()
        .all(|finding| finding.reason.is_momentary());
    let response = ValidationResponse {
        accepted: !is_rejected,
        code: is_rejected.then(|| code(examination.request.creates, is_momentary)),
        message: is_rejected.then(|| message(examination, &rejecting)),
        mutated_object: None,
        warnings: Some(warnings(examination, &findings, is_repaired))
            .filter(|warnings| !warnings.is_empty()),
        audit_annotations: Some(audit_annotations(examination, &findings, &changes))
            .filter(|all| !all.is_empty()),
    };
    (response, edits)
}

/// All findings, in the order of the Pod.
fn findings<'o>(examination: &Examination<'o>) -> Vec<Finding<'o>> {
    let mut findings = examination.findings.clone();
    for (index, place) in examination.places.iter().enumerate() {
        let mut add = |subject, found, expected, why: &Option<Why<'o>>| {
            if let Some(Why::Finding(reason)) = why {
                let (effect, reason) = (Effect::Repairable, Rc::clone(reason));
                findings.push(Finding {
                    place: index,
                    subject,
                    found,
                    expected,
                    effect,
                    reason,
                });
            }
        };
        let (image, policy) = (&place.image, &place.policy);
        add(
            Subject::Image,
            Some(shown(&image.before).into_owned()),
            Some(shown(&image.now).into_owned()),
            &image.why,
        );
        let found = place.sets_policy.then(|| policy.before.as_str().to_owned());
        add(
            Subject::PullPolicy,
            found,
            Some(policy.now.as_str().to_owned()),
            &policy.why,
        );
    }
    findings.sort_by(|one, other| (one.place, &one.subject).cmp(&(other.place, &other.subject)));
    findings
}

/// The place of a finding.
fn place<'e, 'o>(examination: &'e Examination<'o>, finding: &Finding<'_>) -> Option<&'e Place<'o>> {
    examination.places.get(finding.place)
}

/// What is wrong, and what to do about it.
fn sentence(examination: &Examination<'_>, finding: &Finding<'_>) -> Option<String> {
    let (place, reason) = (place(examination, finding)?, &finding.reason);
    Some(format!("{}: {}", reason.problem(place), reason.help(place)))
}

/// The message of a rejection: a sentence for each finding, the most important first.
fn message(examination: &Examination<'_>, findings: &[&Finding<'_>]) -> String {
    let mut findings = findings.to_vec();
    findings.sort_by_key(|finding| finding.reason.rule());
    let shown = findings.iter().take(SENTENCES_MAX);
    let mut sentences: Vec<String> = shown
        .filter_map(|finding| sentence(examination, finding))
        .collect();
    match findings.len().saturating_sub(SENTENCES_MAX) {
        0 => {}
        1 => sentences.push("and 1 more finding".to_owned()),
        hidden => sentences.push(format!("and {hidden} more findings")),
    }
    sentences.join("; ")
}

/// The warnings: a line for each finding that rejects nothing, for each repair that is worth knowing, and for each lookup
/// that failed.
fn warnings(
    examination: &Examination<'_>,
    findings: &[Finding<'_>],
    is_repaired: bool,
) -> Vec<String> {
    let mut findings: Vec<&Finding<'_>> = findings.iter().collect();
    findings.sort_by_key(|finding| finding.reason.rule());
    let of_findings =
        findings
            .into_iter()
            .filter_map(|finding| match Outcome::of(finding, examination) {
                Outcome::Warns => sentence(examination, finding),
                Outcome::IsRepaired if is_repaired => {
                    finding.reason.repaired(place(examination, finding)?)
                }
                Outcome::IsRepaired | Outcome::Rejects => None,
            });
    let lookups = examination
        .failed_lookups
        .iter()
        .filter(|(_, lookup)| lookup.action != Action::Reject);
    let of_lookups = lookups.map(|(image, lookup)| lookup_warning(image, lookup, is_repaired));
    let mut lines: Vec<String> = of_findings.chain(of_lookups).collect();
    if lines.len() > WARNINGS_MAX {
        let hidden = lines.split_off(WARNINGS_MAX.saturating_sub(1)).len();
        lines.push(format!("and {hidden} more warnings"));
    }
    lines
}

/// The warning about a failed lookup.
fn lookup_warning(image: &str, lookup: &FailedLookup, is_repaired: bool) -> String {
    let FailedLookup { failure, action } = lookup;
    let done = match action {
        Action::KeepTag => " (kept as it is)",
        Action::UseCached if is_repaired => " (a node may use the image that it has)",
        Action::UseCached | Action::Reject => "",
    };
    format!(
        "{} {}: {}{done}",
        shown(image),
        failure.problem(),
        failure.help()
    )
}

/// The audit annotations.
fn audit_annotations(
    examination: &Examination<'_>,
    findings: &[Finding<'_>],
    changes: &[Change<'_>],
) -> HashMap<String, String> {
    let findings = findings
        .iter()
        .filter_map(|finding| FindingEntry::of(examination, finding));
    let lookups = examination
        .failed_lookups
        .iter()
        .map(|(image, lookup)| LookupEntry {
            image: shown(image),
            failure: lookup.failure.class.id(),
            asked: lookup.failure.was_asked,
            action: lookup.action,
        });
    let lists = [
        (
            "findings",
            findings.map(|entry| list::json(&entry)).collect(),
        ),
        (
            "changes",
            changes.iter().map(|change| list::json(change)).collect(),
        ),
        (
            "lookups",
            lookups
                .map(|entry| list::json(&entry))
                .collect::<Vec<String>>(),
        ),
    ];
    let lists = lists.into_iter().filter(|(_, entries)| !entries.is_empty());
    lists
        .map(|(key, entries)| (key.to_owned(), list::joined(&entries)))
        .collect()
}

/// An entry of the audit annotation `findings`.
#[derive(Serialize)]
struct FindingEntry<'f> {
    rule: Rule,
    path: String,
    container: Cow<'f, str>,
    image: Cow<'f, str>,
    found: Option<&'f str>,
    expected: Option<&'f str>,
}

impl<'f> FindingEntry<'f> {
    fn of(examination: &'f Examination<'_>, finding: &'f Finding<'_>) -> Option<Self> {
        let place = place(examination, finding)?;
        Some(Self {
            rule: finding.reason.rule(),
            path: match &finding.subject {
                Subject::Image => examination.path(place, place.list.image_path()),
                Subject::PullPolicy => examination.path(place, place.list.policy_path()),
                Subject::Status(path) => path.clone(),
            },
            container: place.shown_name(),
            image: place.shown_image(),
            found: finding.found.as_deref(),
            expected: finding.expected.as_deref(),
        })
    }
}

/// An entry of the audit annotation `lookups`.
#[derive(Serialize)]
struct LookupEntry<'f> {
    image: Cow<'f, str>,
    failure: &'static str,
    asked: bool,
    action: Action,
}
