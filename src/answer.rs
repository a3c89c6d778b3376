//! The answer of waPC's `validate`: message, warnings, audit annotations, and the edits of the
//! object.

mod annotations;
mod changes;
mod sentences;
mod verdict;

use kubewarden_policy_sdk::response::ValidationResponse;

pub use self::changes::{Edit, apply};
use self::changes::{changes, edits, insertions};
use self::sentences::{message, warnings};
use self::verdict::{Verdict, verdict};
use crate::entry::Entry;
use crate::pod::Pod;
use crate::request::Operation;
use crate::settings::Mode;

/// The status code of a rejection if trying again may help, and of every rejected UPDATE: `kubectl
/// apply --force` and Flux's `force` answer 422 there by deleting the object.
const BAD_REQUEST: u16 = 400;
/// The status code of a rejection if trying again doesn't help. Controllers that know this code
/// fail at once and show the message.
const UNPROCESSABLE_ENTITY: u16 = 422;

/// A rejection. Its code is never 500, because an audit reads 500 as a failure of this policy
/// itself.
#[derive(Debug)]
pub struct Rejection {
    pub message: String,
    pub code: u16,
}

impl Rejection {
    /// The rejection of a request or of settings that can't be read.
    pub const fn unreadable(message: String) -> Self {
        Self {
            message,
            code: BAD_REQUEST,
        }
    }

    /// The rejection of an object of a wrong shape.
    pub fn malformed(message: String, creates: bool) -> Self {
        Self {
            message,
            code: code(creates, false),
        }
    }
}

const fn code(creates: bool, is_retryable: bool) -> u16 {
    if creates && !is_retryable {
        UNPROCESSABLE_ENTITY
    } else {
        BAD_REQUEST
    }
}

/// The answer about an examined Pod, without the changed object, and the edits of this object.
pub fn answer(pod: &mut Pod<'_>, entries: &[Entry<'_>]) -> (ValidationResponse, Vec<Edit>) {
    let (settings, operation) = (pod.settings, pod.request.operation);
    let rejects = |entry: &&Entry<'_>| verdict(entry, settings, operation).0 == Verdict::Rejects;
    let mut rejecting = entries.iter().filter(rejects).peekable();
    let is_rejected = rejecting.peek().is_some();
    let is_retryable = rejecting.all(|entry| entry.is_retryable);
    let is_pod = operation != Operation::Template;
    let is_repaired = settings.mode == Mode::Fix && !is_rejected && is_pod;
    let changes = if is_repaired {
        changes(pod, entries)
    } else {
        Vec::new()
    };
    let warnings = warnings(pod, entries, is_repaired);
    let audit_annotations = annotations::audit_annotations(pod, entries, &changes);
    // At UPDATE no annotation is written, because it would be one more change of the Pod.
    let annotations = if is_repaired && pod.request.creates {
        annotations::pod_annotations(&changes, &warnings.unrepaired, &pod.metadata)
    } else {
        Vec::new()
    };
    let response = ValidationResponse {
        accepted: !is_rejected,
        code: is_rejected.then(|| code(pod.request.creates, is_retryable)),
        message: is_rejected.then(|| message(pod, entries)),
        mutated_object: None,
        warnings: (!warnings.lines.is_empty()).then_some(warnings.lines),
        audit_annotations: (!audit_annotations.is_empty()).then_some(audit_annotations),
    };
    let set = edits(changes, annotations);
    let mut edits = if is_repaired {
        // Made before the others, whose paths are those of the returned object. Called last, because it
        // takes the added checks out of the Pod.
        insertions(pod)
    } else {
        Vec::new()
    };
    edits.extend(set);
    (response, edits)
}
