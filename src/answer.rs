//! The answer of waPC's `validate`: message, warnings, audit annotations, and the edits of the
//! object.

mod annotations;
mod changes;
mod sentences;
mod verdict;

use kubewarden_policy_sdk::response::ValidationResponse;

pub use self::changes::{Edit, apply};
use self::changes::{changes, edits};
use self::sentences::{message, warnings};
use self::verdict::{Verdict, verdict};
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
    /// The rejection of what can't be read. `creates` is whether the request creates an object; a
    /// request that is itself unreadable does not count.
    pub const fn new(message: String, creates: bool) -> Self {
        let code = code(creates, false);
        Self { message, code }
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
pub fn answer(pod: &mut Pod) -> (ValidationResponse, Vec<Edit>) {
    let creates = pod.request.creates;
    let rejecting = pod
        .entries
        .iter()
        .filter_map(|entry| match verdict(pod, entry) {
            (Verdict::Rejects, prefix) => Some((entry, prefix)),
            _ => None,
        });
    let rejecting: Vec<_> = rejecting.collect();
    let is_rejected = !rejecting.is_empty();
    let is_retryable = rejecting.iter().all(|(entry, _)| entry.is_retryable);
    let is_pod = pod.request.operation != Operation::Template;
    pod.is_repaired = pod.settings.mode == Mode::Fix && !is_rejected && is_pod;
    let changes = changes(pod);
    let warnings = warnings(pod);
    let audit_annotations = annotations::audit_annotations(pod, &changes);
    let response = ValidationResponse {
        accepted: !is_rejected,
        code: is_rejected.then(|| code(creates, is_retryable)),
        message: is_rejected.then(|| message(pod, &rejecting)),
        mutated_object: None,
        warnings: (!warnings.is_empty()).then_some(warnings),
        audit_annotations: (!audit_annotations.is_empty()).then_some(audit_annotations),
    };
    let edits = if pod.is_repaired {
        // At UPDATE no annotation is written, because it would be one more change of the Pod.
        let annotations = creates.then(|| annotations::pod_annotations(pod, &changes));
        edits(pod, changes, annotations.unwrap_or_default())
    } else {
        Vec::new()
    };
    (response, edits)
}
