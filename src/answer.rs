//! The answer: findings and changes become message, warnings, annotations and the changed object.

mod changes;
mod findings;
mod paths;

use self::changes::{changes, sorted_changes, write_object};
use self::findings::{At, Finding, finding_json, findings};
use self::paths::{Paths, rank};
use crate::json::{in_order, write_escaped, write_string};
use crate::rules::{Decision, Work, registry};
use crate::sentence::{Names, fill, fit};

/// The status code of a rejection. An audit takes 500 for a failure of the policy itself.
const REJECTED: &[u8] = b"400";
/// The longest warning, in characters: what the Kubernetes API asks webhooks for.
const WARNING_MAX: usize = 120;
/// The most warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The most findings that a rejection tells; the audit annotation has them all.
const SENTENCES_MAX: usize = 20;

/// The answer to a request that passes untouched.
#[must_use]
pub fn accept() -> Vec<u8> {
    br#"{"accepted":true}"#.to_vec()
}

/// The answer to a request that can't be examined.
#[must_use]
pub fn reject(message: &str) -> Vec<u8> {
    let mut out = br#"{"accepted":false,"code":"#.to_vec();
    out.extend_from_slice(REJECTED);
    out.extend_from_slice(br#","message":"#);
    write_string(&mut out, message);
    out.push(b'}');
    out
}

/// The answer to what the rules found.
#[must_use]
pub fn answer(work: &Work<'_>, decision: Decision) -> Vec<u8> {
    if work.is_quiet() {
        return accept();
    }
    let paths = Paths::of(work);
    let findings = findings(work, &paths);
    let rejected = decision.rejects(work);
    let repairs = !rejected
        && decision == Decision::Repair
        // What pull-once saves is no reason to change a template, and roll its Pods.
        && (!work.review.event.is_template() || work.has_repairs());
    let changes = if repairs {
        changes(work, &paths)
    } else {
        Vec::new()
    };
    let changes_json = sorted_changes(&changes);
    let mut out = if rejected {
        reject(&message(&findings, decision))
    } else {
        accept()
    };
    out.pop();
    if !changes.is_empty() {
        let object = work.review.object;
        let record: usize = changes_json.iter().map(Vec::len).sum();
        out.reserve(object.end - object.start + 3 * record + 1024);
        out.extend_from_slice(br#","mutated_object":"#);
        write_object(&mut out, work, &changes, &changes_json);
    }
    write_warnings(&mut out, &warnings(work, &findings, decision, rejected));
    write_audit_annotations(&mut out, work, &findings, &changes_json);
    out.push(b'}');
    out
}

/// The message of a rejection: a sentence a finding.
fn message(findings: &[Finding<'_, '_>], decision: Decision) -> String {
    let told: Vec<&Finding<'_, '_>> = in_order(findings, |finding| finding.rule as usize)
        .filter(|finding| !finding.advice)
        .filter(|finding| decision == Decision::Reject || matches!(finding.at, At::Problem(_)))
        .collect();
    let mut sentences: Vec<String> = told
        .iter()
        .take(SENTENCES_MAX)
        .map(|finding| finding.sentence(Names::whole()))
        .collect();
    let more = told.len() - sentences.len();
    if more > 0 {
        sentences.push(fill("and {} more findings", &[&more.to_string()]));
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
    let mut lines: Vec<Box<dyn Fn(Names) -> String + '_>> = Vec::new();
    for finding in in_order(findings, |finding| finding.rule as usize) {
        if finding.advice || decision == Decision::Warn {
            lines.push(Box::new(|names| finding.sentence(names)));
        } else if decision == Decision::Repair && !rejected && finding.is_worth_a_warning() {
            lines.push(Box::new(|names| {
                finding.repaired(names).unwrap_or_default()
            }));
        }
    }
    for lookup in &work.lookups {
        if lookup.action != crate::settings::OnFailure::Reject {
            lines.push(Box::new(|names| registry::warning(lookup, names)));
        }
    }
    let shown = if lines.len() > WARNINGS_MAX {
        WARNINGS_MAX - 1
    } else {
        lines.len()
    };
    let mut warnings: Vec<String> = lines
        .iter()
        .take(shown)
        .map(|line| fit(WARNING_MAX, line))
        .collect();
    let more = lines.len() - shown;
    if more > 0 {
        warnings.push(fill("and {} more warnings", &[&more.to_string()]));
    }
    warnings
}

fn write_warnings(out: &mut Vec<u8>, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    out.extend_from_slice(br#","warnings":["#);
    for (index, warning) in warnings.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, warning);
    }
    out.push(b']');
}

/// Audit annotations: findings, changes and failed lookups as JSON, sorted, to be counted.
fn write_audit_annotations(
    out: &mut Vec<u8>,
    work: &Work<'_>,
    findings: &[Finding<'_, '_>],
    changes: &[Vec<u8>],
) {
    let before = out.len();
    out.extend_from_slice(br#","audit_annotations":{"#);
    let empty = out.len();
    let in_order = in_order(findings, |finding| {
        rank(finding.place().slot, finding.place().index, &finding.path)
    });
    write_annotation(out, "changes", &mut changes.iter().cloned());
    write_annotation(out, "findings", &mut in_order.map(finding_json));
    write_annotation(out, "lookups", &mut work.lookups.iter().map(lookup_json));
    if out.len() == empty {
        out.truncate(before);
        return;
    }
    // The comma after the last.
    out.pop();
    out.push(b'}');
}

/// Writes an annotation whose value is a list in JSON, unless it is empty.
fn write_annotation(out: &mut Vec<u8>, key: &str, items: &mut dyn Iterator<Item = Vec<u8>>) {
    let mut separator = b'[';
    for item in items {
        if separator == b'[' {
            write_string(out, key);
            out.extend_from_slice(b":\"");
        }
        out.push(separator);
        write_escaped(out, &item);
        separator = b',';
    }
    if separator == b',' {
        out.extend_from_slice(b"]\",");
    }
}

fn lookup_json(lookup: &registry::FailedLookup) -> Vec<u8> {
    let asked: &[u8] = match lookup.asked {
        registry::Asked::Yes => b"true",
        _ => b"false",
    };
    let mut out = br#"{"image":"#.to_vec();
    write_string(&mut out, &lookup.image);
    out.extend_from_slice(br#","failure":"#);
    write_string(&mut out, lookup.failure.id());
    out.extend_from_slice(br#","asked":"#);
    out.extend_from_slice(asked);
    out.extend_from_slice(br#","action":"#);
    write_string(&mut out, lookup.action.as_str());
    out.push(b'}');
    out
}
