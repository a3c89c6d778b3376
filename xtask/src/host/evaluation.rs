//! Evaluates admission requests: converts the guest's answer to the `AdmissionResponse` of Kubernetes'
//! admission/v1.
//!
//! The guest returns the whole mutated object, but the API server takes a JSON patch. Kubewarden's hosts
//! and this host compute the patch with the same crate, so that the operations are the same.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::capabilities::{Capabilities, nothing_granted};
use super::policy_module::{PolicyModule, ValidationResponse, payload};
use super::request::AdmissionRequest;
use super::settings::Settings;

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
        let mutated = answer.mutated_object.as_ref();
        let patch =
            mutated.and_then(|mutated| encode_patch(object.unwrap_or(&Value::Null), mutated));
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
}

/// The policy's answer about its settings.
#[derive(Debug, Deserialize)]
pub(crate) struct SettingsValidation {
    /// Whether the policy accepts the settings.
    pub(crate) valid: bool,
    /// The reasons why the policy doesn't accept the settings.
    pub(crate) message: Option<String>,
}

impl PolicyModule {
    /// Calls `validate_settings` with settings in JSON and returns the policy's unchanged answer:
    /// `{"valid": ..., "message": ...}`.
    ///
    /// # Errors
    /// As [`PolicyModule::call`].
    #[cfg(feature = "wasmtime")]
    pub(crate) fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>> {
        self.call(&nothing_granted(), "validate_settings", settings)
    }

    /// Asks the policy whether it accepts these settings.
    pub(crate) fn judge_settings(&self, settings: &Settings) -> Result<SettingsValidation> {
        let settings = serde_json::to_vec(settings).context("cannot serialise the settings")?;
        let answer = self.call(&nothing_granted(), "validate_settings", &settings)?;
        serde_json::from_slice(&answer).context("the policy's answer can't be read")
    }

    /// Evaluates one admission request and returns the response that the API server would get.
    ///
    /// # Errors
    /// When the module gives no answer.
    pub(crate) fn evaluate(
        &self,
        capabilities: &Capabilities,
        settings: &Settings,
        request: &AdmissionRequest,
    ) -> Result<AdmissionResponse> {
        // policy-server has two copies of the request. One is sent, and the answer is compared with the other
        // one. The benchmark measures this function, so this function does the same work.
        let compared = request.clone();
        let answer = self.validate(capabilities, &payload(request, settings)?)?;
        let answer =
            serde_json::from_slice(&answer).context("the policy's answer can't be read")?;
        let uid = request["uid"].as_str().unwrap_or_default().to_owned();
        Ok(AdmissionResponse::new(uid, compared.get("object"), answer))
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
