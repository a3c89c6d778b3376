//! The answer of waPC's `validate`: message, warnings, audit annotations and the changed object.
//!
//! No other module writes the changed object as JSON.

mod changed_object;
mod changes_record;
mod field_changes;
mod findings_annotation;
mod sort_by_field;

use std::collections::BTreeMap;

use kubewarden_policy_sdk::reject_request;
use serde::Serialize;
use wapc_guest::CallResult;

use self::changes_record::ChangesRecord;
use self::field_changes::field_changes;
use self::findings_annotation::FindingWithPath;
use self::sort_by_field::sort_by_field;
use crate::effective_mode::EffectiveMode;
use crate::findings::Repairability;
use crate::findings::failed_lookup::{AppliedLookupAction, FailedLookup};
use crate::findings::reason::RuleId;
use crate::findings::sentence::{Sentence, SentenceLength, line};
use crate::lookup::LookupAttempt;
use crate::outcome::Outcome;
use crate::request::{ExaminedObject, RequestType};
use crate::settings::Mode;

/// The longest warning, in characters. The Kubernetes documentation asks webhooks for warnings of at
/// most 120 characters.
const WARNING_MAX: usize = 120;
/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings`
/// has all findings.
const SENTENCES_MAX: usize = 20;

/// The message of a rejection if the text of the object can't be edited. No known input leads to
/// this.
const NOT_EDITABLE: &str =
    "the object can't be repaired in place: write it without escapes in its keys";

/// The answer of waPC's `validate`. It has the fields of the SDK's `ValidationResponse`, but the
/// changed object is added as text. If this policy parsed the object into a `Value` and wrote this
/// `Value`, an evaluation would take twice as long.
#[derive(Default, Serialize)]
struct ValidateAnswer {
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

impl ValidateAnswer {
    /// Writes the answer, with the changed object if there is one.
    fn write(&self, object: Option<&str>) -> CallResult {
        // While a buffer grows, its old and its new memory are both in use. So this buffer gets about
        // its final size from the start.
        let annotations = self
            .audit_annotations
            .values()
            .map(String::len)
            .sum::<usize>();
        let object_size = object.map_or(0, str::len);
        let size = annotations.saturating_mul(5) / 4;
        let mut answer = Vec::with_capacity(size.saturating_add(object_size).saturating_add(1024));
        serde_json::to_writer(&mut answer, self)?;
        if let Some(object) = object {
            answer.pop();
            answer.extend_from_slice(b",\"mutated_object\":");
            answer.extend_from_slice(object.as_bytes());
            answer.push(b'}');
        }
        Ok(answer)
    }
}

/// The status code of a rejection. It is never 500, because an audit reads 500 as a failure of this
/// policy itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusCode {
    /// 400: trying again may help, or the request is an UPDATE. An UPDATE never gets 422, because
    /// `kubectl apply --force` and Flux's `force` would then delete the object.
    BadRequest,
    /// 422: trying again doesn't help. Controllers that know this code fail at once and show the
    /// message.
    UnprocessableEntity,
}

impl StatusCode {
    /// The code for a fault of the object.
    pub(crate) const fn of_object_fault(request_type: RequestType) -> Self {
        if request_type.is_create() {
            Self::UnprocessableEntity
        } else {
            Self::BadRequest
        }
    }

    const fn number(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::UnprocessableEntity => 422,
        }
    }
}

/// The answer to a request that can't be examined, or whose object can't be edited.
///
/// # Errors
/// Never, because the SDK can write every rejection.
pub(crate) fn reject(message: String, code: StatusCode) -> CallResult {
    reject_request(Some(message), Some(code.number()), None, None)
}

fn reject_not_editable(object: &ExaminedObject<'_>) -> CallResult {
    let code = StatusCode::of_object_fault(object.request_type);
    reject(NOT_EDITABLE.to_owned(), code)
}

/// The answer if no rule ran, or if the outcome is empty. In the first case, *re-apply* may have
/// restored fields.
///
/// # Errors
/// Never, because serde can write every answer.
pub(crate) fn accept_restored(object: &ExaminedObject<'_>) -> CallResult {
    let accepted = ValidateAnswer {
        accepted: true,
        ..ValidateAnswer::default()
    };
    if object.restored.is_empty() {
        return accepted.write(None);
    }
    match changed_object::with_restored_fields(object) {
        Some(object) => accepted.write(Some(&object)),
        None => reject_not_editable(object),
    }
}

/// The answer to the outcome of the rules.
///
/// # Errors
/// Never, because serde can write every answer.
pub(crate) fn answer(outcome: &Outcome<'_>, mode: EffectiveMode) -> CallResult {
    let object = outcome.object;
    if outcome.is_empty() {
        return accept_restored(object);
    }
    let findings: Vec<FindingWithPath<'_, '_>> = outcome
        .findings
        .iter()
        .map(|finding| FindingWithPath::new(finding, object.spec_path()))
        .collect();
    let findings = sort_by_field(findings, |finding| finding.finding.order());
    let is_rejected = outcome.findings.iter().any(|finding| mode.rejects(finding));
    // A change that only saves a pull is no reason to change a pod template, because a changed
    // template may restart its Pods.
    let is_repaired = mode == EffectiveMode::Fix
        && !is_rejected
        && (!object.request_type.is_template() || outcome.has_repairs());
    let changes = if is_repaired {
        field_changes(outcome)
    } else {
        Vec::new()
    };
    let records = outcome.settings.record_changes && object.request_type.is_create();
    let record = (records && !changes.is_empty()).then(|| ChangesRecord::of(&changes, object));
    let object = if is_rejected || (changes.is_empty() && object.restored.is_empty()) {
        None
    } else {
        let record = record.as_ref().and_then(|record| record.value.as_deref());
        match changed_object::with_changes(outcome, record) {
            Some(object) => Some(object),
            None => return reject_not_editable(object),
        }
    };
    let mut audit_annotations = BTreeMap::new();
    if !changes.is_empty() {
        audit_annotations.insert("changes", json_list(&changes)?);
    }
    drop(changes);
    if !findings.is_empty() {
        let findings: Vec<_> = findings.iter().map(FindingWithPath::annotation).collect();
        audit_annotations.insert("findings", json_list(&findings)?);
    }
    if !outcome.failed_lookups.is_empty() {
        let lookups = outcome.failed_lookups.iter();
        let lookups: Vec<_> = lookups.map(FailedLookupAnnotation::of).collect();
        audit_annotations.insert("lookups", serde_json::to_string(&lookups)?);
    }
    if let Some(note) = record.and_then(|record| record.note) {
        audit_annotations.insert("record", note.to_owned());
    }
    let important = by_importance(&findings);
    let answer = ValidateAnswer {
        accepted: !is_rejected,
        code: is_rejected.then(|| code(outcome, mode).number()),
        message: is_rejected.then(|| message(&important, mode)),
        warnings: warnings(outcome, &important, mode, is_rejected),
        audit_annotations,
    };
    drop(important);
    drop(findings);
    answer.write(object.as_deref())
}

/// A list as JSON. The buffer gets about its final size from the start, because the old and the new
/// memory of a buffer are both in use while it grows.
fn json_list<T: Serialize>(items: &[T]) -> serde_json::Result<String> {
    /// The usual size of a finding or of a change, in bytes.
    const ITEM: usize = 192;
    let mut text = Vec::with_capacity(items.len().saturating_mul(ITEM));
    serde_json::to_writer(&mut text, items)?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// The status code of a rejection because of findings.
fn code(outcome: &Outcome<'_>, mode: EffectiveMode) -> StatusCode {
    let mut rejecting = outcome.findings.iter().filter(|one| mode.rejects(one));
    if rejecting.all(|finding| finding.reason.is_momentary()) {
        StatusCode::BadRequest
    } else {
        StatusCode::of_object_fault(outcome.object.request_type)
    }
}

/// An element of the audit annotation `lookups`.
#[derive(Serialize)]
struct FailedLookupAnnotation<'l> {
    image: &'l str,
    failure: &'static str,
    asked: bool,
    action: &'static str,
}

impl<'l> FailedLookupAnnotation<'l> {
    fn of((image, lookup): (&'l String, &FailedLookup)) -> Self {
        Self {
            image,
            failure: lookup.error.class.id(),
            asked: lookup.error.attempt == LookupAttempt::Made,
            action: lookup.action.as_str(),
        }
    }
}

/// The findings in the order of their importance, the most important first.
fn by_importance<'f, 'o, 'p>(
    findings: &'f [FindingWithPath<'o, 'p>],
) -> Vec<&'f FindingWithPath<'o, 'p>> {
    let of_rule = |rule| {
        findings
            .iter()
            .filter(move |finding| finding.finding.reason.rule() == rule)
    };
    RuleId::ALL.into_iter().flat_map(of_rule).collect()
}

/// The message of a rejection: one sentence for each finding that rejects, up to `SENTENCES_MAX`.
fn message(findings: &[&FindingWithPath<'_, '_>], mode: EffectiveMode) -> String {
    let rejecting = || {
        findings
            .iter()
            .filter(|finding| mode.rejects(finding.finding))
    };
    let mut sentences: Vec<String> = rejecting()
        .take(SENTENCES_MAX)
        .map(|finding| finding.sentence(SentenceLength::Full).in_full())
        .collect();
    match rejecting().count().saturating_sub(SENTENCES_MAX) {
        0 => {}
        1 => sentences.push("and 1 more finding".to_owned()),
        hidden => sentences.push(format!("and {hidden} more findings")),
    }
    sentences.join("; ")
}

/// Whether a finding in a pod template needs no warning, because the operator asked for its repair
/// in every Pod.
fn is_wanted_in_pods(outcome: &Outcome<'_>, rule: RuleId) -> bool {
    let settings = outcome.settings;
    let checks = &settings.image_checks;
    outcome.object.request_type.is_template()
        && settings.mode == Mode::Fix
        && match rule {
            RuleId::Default => true,
            RuleId::MissingCheck => outcome.can_add_checks && checks.every_pod,
            _ => false,
        }
}

/// The warnings: a line for each finding, repair or failed lookup that is worth knowing.
fn warnings(
    outcome: &Outcome<'_>,
    findings: &[&FindingWithPath<'_, '_>],
    mode: EffectiveMode,
    is_rejected: bool,
) -> Vec<String> {
    type Line<'l> = Box<dyn Fn(SentenceLength) -> Option<Sentence<'l>> + 'l>;
    let is_repaired = mode == EffectiveMode::Fix && !is_rejected;
    let mut lines: Vec<Line<'_>> = Vec::new();
    for finding in findings {
        if is_wanted_in_pods(outcome, finding.finding.reason.rule()) {
            continue;
        }
        if finding.finding.repairability == Repairability::Advice || mode == EffectiveMode::Warn {
            lines.push(Box::new(|length| Some(finding.sentence(length))));
        } else if is_repaired {
            lines.push(Box::new(|_| finding.finding.repair_warning()));
        }
    }
    for (image, lookup) in &outcome.failed_lookups {
        if lookup.action != AppliedLookupAction::Reject {
            lines.push(Box::new(move |_| Some(lookup.warning(image, is_repaired))));
        }
    }
    let mut warnings = Vec::new();
    let mut hidden: usize = 0;
    for say in lines {
        if warnings.len() > WARNINGS_MAX {
            hidden = hidden.saturating_add(usize::from(say(SentenceLength::Full).is_some()));
        } else {
            warnings.extend(line(WARNING_MAX, say));
        }
    }
    if warnings.len() > WARNINGS_MAX {
        let left_out = warnings.split_off(WARNINGS_MAX.saturating_sub(1)).len();
        hidden = hidden.saturating_add(left_out);
        warnings.push(format!("and {hidden} more warnings"));
    }
    warnings
}
