//! The answer of waPC's `validate`: message, warnings, audit annotations, and the edits of the
//! object.

mod audit_annotations;
mod change;
mod edit;
mod json_list;
mod pod_annotations;
mod sentences;

use kubewarden_policy_sdk::response::ValidationResponse;

use self::change::changes;
pub(crate) use self::edit::{Edit, apply};
use self::sentences::Warnings;
use crate::examination::{Effect, Examination, Finding, Place};
use crate::request::Operation;
use crate::settings::{Mode, PodTemplates, Settings};

/// The status code of a rejection if trying again may help, and of every rejected UPDATE: `kubectl
/// apply --force` and Flux's `force` answer 422 there by deleting the object.
const BAD_REQUEST: u16 = 400;
/// The status code of a rejection if trying again doesn't help. Controllers that know this code
/// fail at once and show the message.
const UNPROCESSABLE_ENTITY: u16 = 422;

/// A rejection. Its code is never 500, because an audit reads 500 as a failure of this policy
/// itself.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) message: String,
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

/// A finding, with its place and what happens with it.
struct Judged<'e, 'o> {
    finding: &'e Finding<'o>,
    place: &'e Place<'o>,
    outcome: Outcome,
    /// How its sentence begins in a pod template: what would become of the Pods.
    of_pods: &'static str,
}

/// What happens with a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Rejects,
    Warns,
    Repairs,
}

impl<'e, 'o> Judged<'e, 'o> {
    fn new(finding: &'e Finding<'o>, place: &'e Place<'o>, examination: &Examination<'_>) -> Self {
        let Settings {
            mode,
            pod_templates,
            ..
        } = *examination.settings;
        let is_template = examination.request.operation == Operation::Template;
        let in_pods = match (finding.effect, mode) {
            (Effect::Repairable, Mode::Fix) => Outcome::Repairs,
            (Effect::OnlyWarning, _) | (_, Mode::Warn) => Outcome::Warns,
            (Effect::NotFound { rejects_pods }, _) if !rejects_pods => Outcome::Warns,
            _ => Outcome::Rejects,
        };
        let of_pods = match (in_pods, finding.effect) {
            _ if !is_template => "",
            (Outcome::Rejects, _) => "its Pods would be rejected: ",
            (Outcome::Warns, Effect::NotFound { .. }) => "its Pods would wait: ",
            _ => "",
        };
        let outcome = match (mode, pod_templates) {
            _ if of_pods.is_empty() => in_pods,
            (Mode::Fix | Mode::Reject, PodTemplates::Reject) => Outcome::Rejects,
            _ => Outcome::Warns,
        };
        Self {
            finding,
            place,
            outcome,
            of_pods,
        }
    }
}

/// The answer to an examined request, without the changed object, and the edits of this object.
pub(crate) fn answer(examination: &Examination<'_>) -> (ValidationResponse, Vec<Edit>) {
    let findings = findings(examination);
    let rejecting = || {
        findings
            .iter()
            .filter(|judged| judged.outcome == Outcome::Rejects)
    };
    let is_rejected = rejecting().next().is_some();
    let is_momentary = rejecting().all(|judged| judged.finding.reason.is_momentary());
    let is_pod = examination.request.operation != Operation::Template;
    let is_repaired = examination.settings.mode == Mode::Fix && !is_rejected && is_pod;
    let changes = if is_repaired {
        changes(examination)
    } else {
        Vec::new()
    };
    let warnings = Warnings::of(examination, &findings, is_repaired);
    let annotations = audit_annotations::annotations(examination, &findings, &changes);
    let edits = if is_repaired {
        edit::edits(examination, &changes, &warnings.unrepaired)
    } else {
        Vec::new()
    };
    let response = ValidationResponse {
        accepted: !is_rejected,
        code: is_rejected.then(|| code(examination.request.creates, is_momentary)),
        message: is_rejected.then(|| sentences::message(&findings)),
        mutated_object: None,
        warnings: (!warnings.lines.is_empty()).then_some(warnings.lines),
        audit_annotations: (!annotations.is_empty()).then_some(annotations),
    };
    (response, edits)
}

/// The findings that count, in the order of the Pod.
fn findings<'e, 'o>(examination: &'e Examination<'o>) -> Vec<Judged<'e, 'o>> {
    let mut judged = Vec::new();
    for finding in &examination.findings.0 {
        if let Some(place) = examination.places.get(finding.place)
            && finding.counts(place)
        {
            judged.push(Judged::new(finding, place, examination));
        }
    }
    judged.sort_by_key(|judged| (judged.finding.place, &judged.finding.subject));
    judged
}
