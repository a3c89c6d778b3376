//! The `AdmissionRequest` of Kubernetes' admission/v1, as a host sends it to a policy.
//!
//! The real hosts parse a review into a type like this one, and serialise the result for the guest. They
//! leave out fields that are absent, null or unknown to admission/v1, and pass the objects on unchanged. A
//! test that gave the raw JSON of a review to the guest would test a request that no host sends.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `AdmissionRequest` of admission/v1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdmissionRequest {
    /// The id of the request, which the response repeats.
    pub(crate) uid: String,
    /// The kind of the object, in a version that the webhook accepts.
    pub(crate) kind: GroupVersionKind,
    /// The resource that belongs to the kind.
    pub(crate) resource: GroupVersionResource,
    /// The subresource, such as `ephemeralcontainers`, `resize` or `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sub_resource: Option<String>,
    /// The kind of the original API request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_kind: Option<GroupVersionKind>,
    /// The resource of the original API request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_resource: Option<GroupVersionResource>,
    /// The subresource of the original API request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_sub_resource: Option<String>,
    /// The name of the object. Absent when the API server will make a name from `generateName`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The namespace of the object. Absent for objects without a namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub(crate) operation: String,
    /// The user who sent the API request.
    pub(crate) user_info: UserInfo,
    /// The new object. Absent for `DELETE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object: Option<Value>,
    /// The stored object. Absent for `CREATE` and `CONNECT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_object: Option<Value>,
    /// True if the API server will not store the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dry_run: Option<bool>,
    /// `CreateOptions`, `UpdateOptions` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Value>,
}

/// A kind in its API group and version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GroupVersionKind {
    /// The API group. Empty for the core group.
    pub(crate) group: String,
    /// The version of the API, such as `v1`.
    pub(crate) version: String,
    /// The kind, such as `Pod`.
    pub(crate) kind: String,
}

/// A resource in its API group and version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GroupVersionResource {
    /// The API group. Empty for the core group.
    pub(crate) group: String,
    /// The version of the API, such as `v1`.
    pub(crate) version: String,
    /// The resource, such as `pods`.
    pub(crate) resource: String,
}

/// `UserInfo` of authentication/v1.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct UserInfo {
    /// Further facts from the authenticator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extra: Option<BTreeMap<String, Vec<String>>>,
    /// The user's groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) groups: Option<Vec<String>>,
    /// Distinguishes users who had the same name at different times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
    /// The user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) username: Option<String>,
}

/// Reads a request from JSON: an `AdmissionReview`, or the bare `AdmissionRequest` in it.
pub(crate) fn parse_review(text: &str) -> Result<AdmissionRequest> {
    let mut value: Value = serde_json::from_str(text).context("the request is not JSON")?;
    if !value.is_object() {
        bail!("the request is not a JSON object");
    }
    if value.get("kind").and_then(Value::as_str) == Some("AdmissionReview") {
        value = match value.get_mut("request") {
            Some(request) => request.take(),
            None => bail!("the AdmissionReview has no request"),
        };
    }
    // kwctl refuses a review without a kind too, because kwctl reads it as a bare request.
    if value.get("request").is_some() && value.get("uid").is_none() {
        bail!(
            "this is a review, but doesn't say so: give it `\"kind\": \"AdmissionReview\"`, or send \
             the request in it alone (jq .request)"
        );
    }
    serde_json::from_value(value).context("not an AdmissionRequest of admission.k8s.io/v1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn minimal() -> Value {
        json!({
            "uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "userInfo": {},
        })
    }

    fn sent(request: &Value) -> Value {
        let request = parse_review(&request.to_string()).expect("a request");
        serde_json::to_value(&request).expect("serialise")
    }

    #[test]
    fn a_review_and_its_bare_request_are_the_same() {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": minimal()});
        assert_eq!(sent(&review), sent(&minimal()));
    }

    #[test]
    fn a_request_whose_kind_is_an_object_is_a_bare_request() {
        assert_eq!(sent(&minimal())["kind"]["kind"], "Pod");
    }

    #[test]
    fn null_and_unknown_fields_do_not_reach_the_guest() {
        let mut request = minimal();
        for field in [
            "object",
            "oldObject",
            "name",
            "dryRun",
            "options",
            "subResource",
        ] {
            request[field] = Value::Null;
        }
        request["somethingNew"] = json!(1);
        request["userInfo"] = json!({"username": "a", "groups": null, "somethingNew": 1});
        let mut expected = minimal();
        expected["userInfo"] = json!({"username": "a"});
        assert_eq!(sent(&request), expected);
    }

    #[test]
    fn objects_pass_through_whole() {
        let object = json!({"metadata": {"creationTimestamp": null}, "spec": {"zz": [1.5, {"b": null}], "new": true}});
        let mut request = minimal();
        request["object"] = object.clone();
        request["oldObject"] = object.clone();
        request["options"] = object;
        assert_eq!(sent(&request), request);
    }

    #[test]
    fn an_invalid_request_is_an_error_that_names_the_field() {
        for (text, expected) in [
            ("[]", "not a JSON object"),
            ("{", "not JSON"),
            (r#"{"kind":"AdmissionReview"}"#, "has no request"),
            // The audit scanner sends reviews without a kind. The error says how to use such a review.
            (r#"{"request":{"uid":"u"}}"#, "jq .request"),
            (r#"{"uid":"u"}"#, "missing field `kind`"),
            (r#"{"kind":"Pod"}"#, "invalid type"),
        ] {
            let error = format!("{:#}", parse_review(text).expect_err(text));
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
