//! Kubernetes' `AdmissionResponse` (admission/v1), made of a policy's answer.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::{AdmissionRequest, Settings, payload};
use super::module::{Capabilities, Module};
use super::registry::nothing_granted;

/// The answer of a policy's `validate`.
#[derive(Debug, Deserialize)]
pub struct ValidationResponse {
    /// Whether the request is accepted.
    pub accepted: bool,
    /// The reason of a rejection.
    pub message: Option<String>,
    /// The HTTP code of a rejection.
    pub code: Option<u16>,
    /// The object with the policy's changes.
    pub mutated_object: Option<Value>,
    /// Annotations for the API server's audit log.
    pub audit_annotations: Option<BTreeMap<String, String>>,
    /// Lines that the API server shows to the user.
    pub warnings: Option<Vec<String>>,
}

/// The answer of a policy's `validate_settings`.
#[derive(Debug, Deserialize)]
pub struct SettingsValidation {
    /// Whether the policy accepts the settings.
    pub valid: bool,
    /// The reasons why the policy doesn't accept the settings.
    pub message: Option<String>,
}

/// `AdmissionResponse` of admission/v1, with its fields in the order of Kubewarden's hosts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionResponse {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    /// The patch (RFC 6902) in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    audit_annotations: Option<BTreeMap<String, String>>,
    warnings: Option<Vec<String>>,
}

/// The part of meta/v1's `Status` that a policy can fill.
#[derive(Debug, Serialize)]
struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
}

impl Module {
    /// Asks the policy whether it accepts these settings.
    ///
    /// # Errors
    /// If the policy gives no answer.
    pub fn validate_settings(&self, settings: &Settings) -> Result<SettingsValidation> {
        let settings = serde_json::to_vec(settings)?;
        let answer = self.call(&nothing_granted(), "validate_settings", &settings)?;
        serde_json::from_slice(&answer.bytes).context("the policy's answer can't be read")
    }

    /// Asks the policy about a request.
    ///
    /// # Errors
    /// If the policy gives no answer.
    pub fn validate(
        &self,
        capabilities: &Capabilities,
        settings: &Settings,
        request: &AdmissionRequest,
    ) -> Result<ValidationResponse> {
        let answer = self.call(capabilities, "validate", &payload(request, settings))?;
        serde_json::from_slice(&answer.bytes).context("the policy's answer can't be read")
    }
}

impl AdmissionResponse {
    /// The response that the API server gets for a policy's answer to a request. A policy returns the
    /// whole changed object, and the API server takes a JSON patch. Kubewarden's hosts compute it with
    /// the same crate.
    ///
    /// # Errors
    /// If the patch can't be written.
    pub fn new(request: &AdmissionRequest, answer: ValidationResponse) -> Result<Self> {
        let object = request.get("object").unwrap_or(&Value::Null);
        let changes = answer
            .mutated_object
            .map(|mutated| json_patch::diff(object, &mutated));
        let patch = match changes.filter(|patch| !patch.is_empty()) {
            Some(patch) => Some(STANDARD.encode(serde_json::to_vec(&patch)?)),
            None => None,
        };
        let has_status = answer.message.is_some() || answer.code.is_some();
        Ok(Self {
            uid: request["uid"].as_str().unwrap_or_default().to_owned(),
            allowed: answer.accepted,
            patch_type: patch.is_some().then_some("JSONPatch"),
            patch,
            status: has_status.then_some(Status {
                message: answer.message,
                code: answer.code,
            }),
            audit_annotations: answer.audit_annotations,
            warnings: answer.warnings,
        })
    }
}
