//! Converts the guest's answer to the `AdmissionResponse` of Kubernetes' admission/v1.
//!
//! The guest returns the whole mutated object, but the API server takes a JSON patch. Kubewarden's hosts
//! and this host compute the patch with the same crate, so that the operations are the same.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of a policy's `validate`.
#[derive(Debug, Deserialize)]
pub(crate) struct ValidationResponse {
    /// Whether the request is accepted.
    pub(crate) accepted: bool,
    /// The reason of a rejection.
    pub(crate) message: Option<String>,
    /// The HTTP code of a rejection.
    pub(crate) code: Option<u16>,
    /// The object with the policy's changes.
    pub(crate) mutated_object: Option<Value>,
    /// Annotations for the API server's audit log.
    pub(crate) audit_annotations: Option<BTreeMap<String, String>>,
    /// Lines that the API server shows to the user.
    pub(crate) warnings: Option<Vec<String>>,
}

/// `AdmissionResponse` of admission/v1. Its fields have the order in which kwctl and policy-server
/// write them.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdmissionResponse {
    /// The `uid` of the request.
    pub(crate) uid: String,
    /// Whether the request is accepted.
    pub(crate) allowed: bool,
    /// `JSONPatch` when there is a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch_type: Option<&'static str>,
    /// The patch (RFC 6902) in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<String>,
    /// The reason of a rejection, and its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    /// The answer's audit annotations. Written as `null` when there are none, as Kubewarden's hosts do.
    pub(crate) audit_annotations: Option<BTreeMap<String, String>>,
    /// The answer's warnings. Written as `null` when there are none, as Kubewarden's hosts do.
    pub(crate) warnings: Option<Vec<String>>,
}

/// The part of meta/v1's `Status` that a policy can fill.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    /// The message for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// An HTTP code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<u16>,
}

impl AdmissionResponse {
    /// The response for a policy's answer to a request with `object`.
    pub(crate) fn new(uid: String, object: Option<&Value>, answer: ValidationResponse) -> Self {
        let patch = match (object, &answer.mutated_object) {
            (_, None) => None,
            (Some(object), Some(mutated)) => encode_patch(object, mutated),
            (None, Some(_)) => {
                let message = "Incoming object is null, which happens only with DELETE operations, \
                    but the policy is attempting a mutation. This is not allowed";
                return Self::reject(uid, message.to_owned(), None);
            }
        };
        let status = (answer.message.is_some() || answer.code.is_some()).then_some(Status {
            message: answer.message,
            code: answer.code,
        });
        Self {
            uid,
            allowed: answer.accepted,
            patch_type: patch.is_some().then_some("JSONPatch"),
            patch,
            status,
            audit_annotations: answer.audit_annotations,
            warnings: answer.warnings,
        }
    }

    /// A rejection by the host.
    pub(crate) fn reject(uid: String, message: String, code: Option<u16>) -> Self {
        let message = Some(message);
        Self {
            uid,
            status: Some(Status { message, code }),
            ..Self::default()
        }
    }

    /// A rejection because the policy gave no usable answer.
    pub(crate) fn internal_error(uid: String, error: &str) -> Self {
        Self::reject(uid, format!("internal server error: {error}"), Some(500))
    }

    /// The operations of the patch.
    pub(crate) fn patch_operations(&self) -> Vec<Value> {
        self.patch
            .as_deref()
            .and_then(|patch| STANDARD.decode(patch).ok())
            .and_then(|patch| serde_json::from_slice(&patch).ok())
            .unwrap_or_default()
    }
}

/// The patch from `object` to `mutated`, in base64. `None` if the two objects are equal.
fn encode_patch(object: &Value, mutated: &Value) -> Option<String> {
    let patch = json_patch::diff(object, mutated);
    if patch.is_empty() {
        return None;
    }
    // A patch consists of JSON values, so writing it as JSON never fails.
    serde_json::to_vec(&patch)
        .ok()
        .map(|json| STANDARD.encode(json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn response(object: Option<&Value>, answer: Value) -> AdmissionResponse {
        let answer = serde_json::from_value(answer).expect("an answer");
        AdmissionResponse::new("u".to_owned(), object, answer)
    }

    fn line(response: &AdmissionResponse) -> String {
        serde_json::to_string(response).expect("serialise")
    }

    #[test]
    fn fields_and_nulls_are_written_as_kwctl_writes_them() {
        let object = json!({"a": 1});
        for (answer, expected) in [
            (
                json!({"accepted": true}),
                r#"{"uid":"u","allowed":true,"auditAnnotations":null,"warnings":null}"#,
            ),
            (
                json!({"accepted": false, "message": "no", "code": 400}),
                r#"{"uid":"u","allowed":false,"status":{"message":"no","code":400},"auditAnnotations":null,"warnings":null}"#,
            ),
            (
                json!({"accepted": false, "message": "no"}),
                r#"{"uid":"u","allowed":false,"status":{"message":"no"},"auditAnnotations":null,"warnings":null}"#,
            ),
            (
                json!({"accepted": true, "warnings": ["w"], "audit_annotations": {"b": "2", "a": "1"}}),
                r#"{"uid":"u","allowed":true,"auditAnnotations":{"a":"1","b":"2"},"warnings":["w"]}"#,
            ),
            (
                json!({"accepted": true, "mutated_object": {"a": 2}}),
                r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9hIiwidmFsdWUiOjJ9XQ==","auditAnnotations":null,"warnings":null}"#,
            ),
        ] {
            assert_eq!(line(&response(Some(&object), answer)), expected);
        }
    }

    #[test]
    fn equal_objects_have_no_patch() {
        let object = json!({"a": {"b": 1, "c": 2}});
        let got = response(
            Some(&object),
            json!({"accepted": true, "mutated_object": {"a": {"c": 2, "b": 1}}}),
        );
        assert!(got.patch.is_none() && got.patch_type.is_none());
    }

    #[test]
    fn the_patch_lists_the_differences() {
        let object = json!({"a": 1, "l": ["x", "y"]});
        let got = response(
            Some(&object),
            json!({"accepted": true, "mutated_object": {"a": 1, "l": ["x", "z"], "n": 0}}),
        );
        assert_eq!(
            got.patch_operations(),
            [
                json!({"op": "replace", "path": "/l/1", "value": "z"}),
                json!({"op": "add", "path": "/n", "value": 0}),
            ]
        );
    }

    #[test]
    fn a_mutation_without_an_object_is_rejected() {
        let got = response(
            None,
            json!({"accepted": true, "mutated_object": {}, "warnings": ["w"]}),
        );
        assert!(!got.allowed);
        assert!(line(&got).contains("happens only with DELETE"));
        assert!(got.warnings.is_none());
    }
}
