//! The answer of waPC's `validate`: message, warnings, audit annotations and the changed object.
//!
//! No other module writes the changed object as JSON.

mod changed_object;
mod changes_record;
mod limited_json_list;

use std::borrow::Cow;
use std::collections::BTreeMap;

use kubewarden_policy_sdk::reject_request;
use serde::Serialize;
use wapc_guest::CallResult;

use self::changed_object::changed_object;
use self::changes_record::{change_entries, record_of};
use self::limited_json_list::limited_json_list;
use crate::examination_result::ExaminationResult;
use crate::finding::{Finding, FindingEffect};
use crate::lookup::failed_lookup::FailedLookup;
use crate::request::RequestType;
use crate::rule_id::RuleId;
use crate::settings::{LookupFailureAction, PolicyMode};
use crate::shown_text::{TEXT_MAX, TextLimit, line, shorten};

/// The longest warning, in characters. The Kubernetes documentation asks webhooks for warnings of at
/// most 120 characters.
const WARNING_MAX: usize = 120;
/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings`
/// has more of them.
const SENTENCES_MAX: usize = 20;

/// The message of a rejection if the text of the object can't be edited. No known input leads to
/// this.
const NOT_EDITABLE: &str =
    "the object can't be repaired in place: write it without escapes in its keys";

/// The answer of waPC's `validate`. It has the fields of the SDK's `ValidationResponse`, but the
/// changed object is added as text. If this policy parsed the object into a `Value` and wrote this
/// `Value`, an evaluation would take twice as long.
#[derive(Serialize)]
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
    /// Writes the answer, with the changed object if there is one. While a buffer grows, its old and its new memory are
    /// both in use. So this buffer gets about its final size from the start.
    fn write(&self, object: Option<&str>) -> CallResult {
        /// About the largest size of everything else.
        const REST: usize = 16 * 1024;
        let mut answer = Vec::with_capacity(object.map_or(0, str::len).saturating_add(REST));
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

/// The status code of a rejection if trying again may help, and of every rejected UPDATE: `kubectl apply
/// --force` and Flux's `force` answer 422 there by deleting the object.
pub(crate) const BAD_REQUEST: u16 = 400;
/// The status code of a rejection if trying again doesn't help. Controllers that know this code fail at
/// once and show the message.
const UNPROCESSABLE_ENTITY: u16 = 422;

/// The status code for a fault of the object. It is never 500, because an audit reads 500 as a failure of
/// this policy itself.
pub(crate) const fn code_of_object_fault(request_type: RequestType) -> u16 {
    if request_type.is_create() {
        UNPROCESSABLE_ENTITY
    } else {
        BAD_REQUEST
    }
}

/// The answer to a request that can't be examined, or whose object can't be edited.
///
/// # Errors
/// Never, because the SDK can write every rejection.
pub(crate) fn reject(message: String, code: u16) -> CallResult {
    reject_request(Some(message), Some(code), None, None)
}

/// The answer to what the rules found and changed.
///
/// # Errors
/// Never, because serde can write every answer.
pub(crate) fn answer(mut result: ExaminationResult<'_>, mode: PolicyMode) -> CallResult {
    let object = result.object;
    let is_rejected = result.findings.iter().any(|finding| finding.rejects(mode));
    // A change that only saves a pull is no reason to change a pod template, because a changed
    // template may restart its Pods.
    let is_repaired = mode == PolicyMode::Fix
        && !is_rejected
        && (!object.request_type.is_template() || result.has_repairs());
    if !is_repaired {
        result.changes.clear();
    }
    let changes = change_entries(&result);
    let has_changes = !result.changes.is_empty();
    let records = result.settings.record_changes && object.request_type.is_create();
    let record = (records && has_changes).then(|| record_of(changes.clone(), object));
    let text = if is_rejected || (!has_changes && object.restored.is_empty()) {
        None
    } else {
        let Some(text) = changed_object(&result, record.flatten().as_deref()) else {
            let code = code_of_object_fault(object.request_type);
            return reject(NOT_EDITABLE.to_owned(), code);
        };
        Some(text)
    };
    let mut findings: Vec<&Finding<'_>> = result.findings.iter().collect();
    // The order of the Pod.
    findings.sort_by_key(|finding| finding.order());
    let mut audit_annotations = BTreeMap::new();
    if has_changes {
        audit_annotations.insert("changes", limited_json_list(changes));
    }
    if !findings.is_empty() {
        let spec_path = object.spec_path();
        let entries = findings
            .iter()
            .map(move |one| FindingEntry::of(one, spec_path));
        audit_annotations.insert("findings", limited_json_list(entries));
    }
    if !result.failed_lookups.is_empty() {
        let lookups = result.failed_lookups.iter().map(FailedLookupEntry::of);
        audit_annotations.insert("lookups", limited_json_list(lookups));
    }
    // The most important first.
    let mut important = findings.clone();
    important.sort_by_key(|finding| finding.rule());
    let answer = ValidateAnswer {
        accepted: !is_rejected,
        code: is_rejected.then(|| code(&result, mode)),
        message: is_rejected.then(|| message(&important, mode)),
        warnings: warnings(&result, &important, mode, is_rejected),
        audit_annotations,
    };
    answer.write(text.as_deref())
}

/// The status code of a rejection because of findings.
fn code(result: &ExaminationResult<'_>, mode: PolicyMode) -> u16 {
    let mut rejecting = result.findings.iter().filter(|one| one.rejects(mode));
    if rejecting.all(|finding| finding.reason.is_momentary()) {
        BAD_REQUEST
    } else {
        code_of_object_fault(result.object.request_type)
    }
}

/// An element of the audit annotation `findings`.
#[derive(Serialize)]
struct FindingEntry<'f> {
    rule: RuleId,
    path: String,
    container: Cow<'f, str>,
    image: Cow<'f, str>,
    found: Option<Cow<'f, str>>,
    expected: Option<Cow<'f, str>>,
}

impl<'f> FindingEntry<'f> {
    fn of(finding: &'f Finding<'_>, spec_path: &str) -> Self {
        let cut = |text: &'f str| shorten(text, TEXT_MAX);
        Self {
            rule: finding.rule(),
            path: finding.path(spec_path),
            container: cut(&finding.place.name),
            image: cut(finding.place.image_text()),
            found: finding.found().map(cut),
            expected: finding.expected().map(cut),
        }
    }
}

/// An element of the audit annotation `lookups`.
#[derive(Serialize)]
struct FailedLookupEntry<'l> {
    image: &'l str,
    failure: &'static str,
    asked: bool,
    action: LookupFailureAction,
}

impl<'l> FailedLookupEntry<'l> {
    fn of((image, lookup): (&'l String, &FailedLookup)) -> Self {
        Self {
            image,
            failure: lookup.error.class.id(),
            asked: lookup.error.was_asked,
            action: lookup.action,
        }
    }
}

/// The message of a rejection: one sentence for each finding that rejects, up to `SENTENCES_MAX`.
fn message(findings: &[&Finding<'_>], mode: PolicyMode) -> String {
    let rejecting = || findings.iter().filter(|finding| finding.rejects(mode));
    let mut sentences: Vec<String> = rejecting()
        .take(SENTENCES_MAX)
        .map(|finding| finding.reason.sentence(finding, TextLimit::LONGEST))
        .collect();
    match rejecting().count().saturating_sub(SENTENCES_MAX) {
        0 => {}
        1 => sentences.push("and 1 more finding".to_owned()),
        hidden => sentences.push(format!("and {hidden} more findings")),
    }
    sentences.join("; ")
}

/// The warnings: a line for each finding, repair or failed lookup that is worth knowing.
fn warnings(
    result: &ExaminationResult<'_>,
    findings: &[&Finding<'_>],
    mode: PolicyMode,
    is_rejected: bool,
) -> Vec<String> {
    let settings = result.settings;
    let is_template = result.object.request_type.is_template();
    let is_expected = |finding: &Finding<'_>| {
        is_template
            && settings.mode == PolicyMode::Fix
            && finding.reason.is_expected_in_template(settings)
    };
    let is_repaired = mode == PolicyMode::Fix && !is_rejected;
    // Most sentences are only counted, so a sentence is made where it is shown.
    let mut sentences: Vec<Box<dyn Fn(TextLimit) -> String + '_>> = Vec::new();
    for finding in findings.iter().filter(|finding| !is_expected(finding)) {
        let reason = &finding.reason;
        if finding.effect == FindingEffect::OnlyWarning || mode == PolicyMode::Warn {
            sentences.push(Box::new(|limit| reason.sentence(finding, limit)));
        } else if is_repaired && reason.warns_of_repair() {
            sentences.push(Box::new(|limit| reason.repair_warning(finding, limit)));
        }
    }
    for (image, lookup) in &result.failed_lookups {
        if lookup.action != LookupFailureAction::Reject {
            sentences.push(Box::new(move |limit| {
                lookup.warning(image, is_repaired, limit)
            }));
        }
    }
    let is_cut = sentences.len() > WARNINGS_MAX;
    let shown = WARNINGS_MAX.saturating_sub(usize::from(is_cut));
    let lines = sentences.iter().take(shown);
    let mut warnings: Vec<_> = lines.map(|sentence| line(WARNING_MAX, sentence)).collect();
    if is_cut {
        let hidden = sentences.len().saturating_sub(shown);
        warnings.push(format!("and {hidden} more warnings"));
    }
    warnings
}
