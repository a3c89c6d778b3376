//! The answer: findings and changes become message, warnings, annotations and the changed object.

mod changes;
mod findings;
mod object;
mod paths;
mod record;

use std::collections::BTreeMap;

use kubewarden_policy_sdk::reject_request;
use serde::Serialize;
use wapc_guest::CallResult;

use self::changes::changes;
use self::findings::{Finding, findings};
use self::paths::Paths;
use self::record::Record;
use crate::request::Review;
use crate::rules::registry::{Asked, FailedLookup};
use crate::rules::{Decision, Rule, Work};
use crate::sentence::{Names, fit};
use crate::settings::LookupFailureAction;

/// The status code of a rejection. An audit takes 500 for a failure of the policy itself.
const REJECTED: u16 = 400;
/// The longest warning, in characters: what the Kubernetes API asks webhooks for.
const WARNING_MAX: usize = 120;
/// The most warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The most findings that a rejection tells; the audit annotation has them all.
const SENTENCES_MAX: usize = 20;

/// What waPC's `validate` answers: `ValidationResponse` of the SDK, but for the object, which goes
/// out as text. As a `Value` it would be parsed, built and written once more, and that costs as
/// much as everything else together.
#[derive(Default, Serialize)]
struct Answer {
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
}

impl Answer {
    /// Writes the answer, with the changed object where there is one.
    fn write(&self, object: Option<&str>) -> CallResult {
        let mut answer = serde_json::to_vec(self)?;
        if let Some(object) = object {
            answer.pop();
            answer.reserve_exact(object.len().saturating_add(20));
            answer.extend_from_slice(b",\"mutated_object\":");
            answer.extend_from_slice(object.as_bytes());
            answer.push(b'}');
        }
        Ok(answer)
    }
}

/// The answer to a request that can't be examined.
///
/// # Errors
/// Never, as far as the SDK is concerned.
pub fn reject(message: String) -> CallResult {
    reject_request(Some(message), Some(REJECTED), None, None)
}

/// The answer where nothing was looked for, but fields may have been put back.
///
/// # Errors
/// Never, as far as the SDK is concerned.
pub fn restored(review: &Review<'_>) -> CallResult {
    let accepted = Answer {
        accepted: true,
        ..Answer::default()
    };
    if review.restored.is_empty() {
        return accepted.write(None);
    }
    match object::restored(review) {
        Some(object) => accepted.write(Some(&object)),
        None => reject(UNEDITED.to_owned()),
    }
}

/// What is said if an edit has no place, which no input is known to bring about.
const UNEDITED: &str =
    "the object can't be repaired in place: write it without escapes in its keys";

/// The answer to what the rules found.
///
/// # Errors
/// Never, as far as the SDK is concerned.
pub fn answer(work: &Work<'_>, decision: Decision) -> CallResult {
    if work.is_quiet() {
        return restored(work.review);
    }
    let paths = Paths::of(work);
    let findings = findings(work, &paths);
    let rejected = decision.rejects(work);
    // What pull-once saves is no reason to change a template, and roll its Pods.
    let repairs = decision == Decision::Repair
        && !rejected
        && (!work.review.event.is_template() || work.has_repairs());
    let changes = if repairs {
        changes(work, &paths)
    } else {
        Vec::new()
    };
    let records = work.settings.record_changes && work.review.event.is_create();
    let record = (records && !changes.is_empty()).then(|| Record::of(&changes, work.review));
    let object = if rejected || (changes.is_empty() && work.review.restored.is_empty()) {
        None
    } else {
        let record = record.as_ref().and_then(|record| record.value.as_deref());
        match object::edited(work, record) {
            Some(object) => Some(object),
            None => return reject(UNEDITED.to_owned()),
        }
    };
    let mut audit_annotations = BTreeMap::new();
    if !changes.is_empty() {
        audit_annotations.insert("changes", serde_json::to_string(&changes)?);
    }
    drop(changes);
    if !findings.is_empty() {
        audit_annotations.insert("findings", serde_json::to_string(&findings)?);
    }
    if !work.lookups.is_empty() {
        let lookups: Vec<_> = work.lookups.iter().map(Lookup::of).collect();
        audit_annotations.insert("lookups", serde_json::to_string(&lookups)?);
    }
    if let Some(note) = record.and_then(|record| record.note) {
        audit_annotations.insert("record", note.to_owned());
    }
    let answer = Answer {
        accepted: !rejected,
        code: rejected.then_some(REJECTED),
        message: rejected.then(|| message(&findings, decision)),
        warnings: warnings(work, &findings, decision, rejected),
        audit_annotations,
    };
    answer.write(object.as_deref())
}

/// A lookup that failed, as it stands in the audit annotation.
#[derive(Serialize)]
struct Lookup<'l> {
    image: &'l str,
    failure: &'static str,
    asked: bool,
    action: &'static str,
}

impl<'l> Lookup<'l> {
    fn of((image, lookup): (&'l String, &FailedLookup)) -> Self {
        Self {
            image,
            failure: lookup.answer.failure.id(),
            asked: lookup.answer.asked == Asked::Yes,
            action: lookup.action.as_str(),
        }
    }
}

/// Findings with the most important first.
fn by_importance<'f, 'w, 'p>(findings: &'f [Finding<'w, 'p>]) -> Vec<&'f Finding<'w, 'p>> {
    let of = |rule| {
        findings
            .iter()
            .filter(move |finding| finding.rule() == rule)
    };
    Rule::ALL.into_iter().flat_map(of).collect()
}

/// The message of a rejection: a sentence a finding.
fn message(findings: &[Finding<'_, '_>], decision: Decision) -> String {
    let mut told = by_importance(findings);
    told.retain(|finding| !finding.advice && (decision == Decision::Reject || !finding.repairable));
    let mut sentences: Vec<String> = told
        .iter()
        .take(SENTENCES_MAX)
        .map(|finding| finding.sentence(Names::whole()))
        .collect();
    let more = told.len().saturating_sub(SENTENCES_MAX);
    match more {
        0 => {}
        1 => sentences.push("and 1 more finding".to_owned()),
        _ => sentences.push(format!("and {more} more findings")),
    }
    sentences.join("; ")
}

/// The warnings: a line a finding or a repair worth knowing.
fn warnings(
    work: &Work<'_>,
    findings: &[Finding<'_, '_>],
    decision: Decision,
    rejected: bool,
) -> Vec<String> {
    type Line<'l> = Box<dyn Fn(Names) -> Option<String> + 'l>;
    let is_repaired = decision == Decision::Repair && !rejected;
    let mut lines: Vec<Line<'_>> = Vec::new();
    for finding in by_importance(findings) {
        if finding.advice || decision == Decision::Warn {
            lines.push(Box::new(|names| Some(finding.sentence(names))));
        } else if is_repaired {
            lines.push(Box::new(|names| finding.repaired(names)));
        }
    }
    for (image, lookup) in &work.lookups {
        if lookup.action != LookupFailureAction::Reject {
            lines.push(Box::new(move |names| {
                Some(lookup.warning(image, is_repaired, names))
            }));
        }
    }
    let mut warnings = Vec::new();
    let mut more: usize = 0;
    for line in lines {
        if warnings.len() > WARNINGS_MAX {
            more = more.saturating_add(usize::from(line(Names::whole()).is_some()));
        } else {
            warnings.extend(fit(WARNING_MAX, line));
        }
    }
    if warnings.len() > WARNINGS_MAX {
        let left_out = warnings.split_off(WARNINGS_MAX.saturating_sub(1)).len();
        more = more.saturating_add(left_out);
        warnings.push(format!("and {more} more warnings"));
    }
    warnings
}
