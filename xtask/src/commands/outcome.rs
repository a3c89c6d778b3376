//! The result of an evaluation as `show` and `plan` report it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::request::AdmissionRequest;
use crate::host::response::AdmissionResponse;

/// The outcome for an object. The most severe outcome comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Rejected,
    Changed,
    Warned,
    Allowed,
}

impl Outcome {
    /// The outcome of a response.
    pub(crate) fn of(response: &AdmissionResponse) -> Self {
        let warned = response.warnings.as_ref();
        match response {
            response if !response.allowed => Self::Rejected,
            response if response.patch.is_some() => Self::Changed,
            _ if warned.is_some_and(|lines| !lines.is_empty()) => Self::Warned,
            _ => Self::Allowed,
        }
    }
}

/// An element of the audit annotations `changes` and `findings`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuditEntry {
    /// The id of the rule.
    pub(crate) rule: String,
    /// The path of the field, such as `spec.containers[0].image`. The path of the whole object is empty.
    pub(crate) path: String,
    /// The name of the container or volume.
    pub(crate) container: Option<String>,
    /// The old value, in a change.
    pub(crate) from: Value,
    /// The new value, in a change.
    pub(crate) to: Value,
    /// The value that should be there, in a finding.
    pub(crate) expected: Value,
}

impl AuditEntry {
    /// The entries of the audit annotation `key`. Empty if the response has no such annotation.
    pub(crate) fn read_all(response: &AdmissionResponse, key: &str) -> Vec<Self> {
        let annotations: Option<&BTreeMap<String, String>> = response.audit_annotations.as_ref();
        annotations
            .and_then(|annotations| serde_json::from_str(annotations.get(key)?).ok())
            .unwrap_or_default()
    }
}

/// The kind of a request's object, with the subresource: `Pod/resize`.
pub(crate) fn object_kind(request: &AdmissionRequest) -> String {
    let kind = &request.kind.kind;
    match request.sub_resource.as_deref() {
        Some(part) if !part.is_empty() => format!("{kind}/{part}"),
        _ => kind.clone(),
    }
}

/// The name of a request's object, else the object's `generateName` followed by `*`, else `(no name)`.
pub(crate) fn object_name(request: &AdmissionRequest) -> String {
    let object = request.object.as_ref().or(request.old_object.as_ref());
    let metadata = |key: &str| object?.get("metadata")?.get(key)?.as_str();
    let name = metadata("name").or(request.name.as_deref());
    match (
        name.filter(|name| !name.is_empty()),
        metadata("generateName"),
    ) {
        (Some(name), _) => name.to_owned(),
        (None, Some(prefix)) => format!("{prefix}*"),
        (None, None) => "(no name)".to_owned(),
    }
}
