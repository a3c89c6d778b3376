//! Runs this policy on a case. Its lookups get the answers of the case.

use std::sync::{Arc, Mutex, PoisonError};

use consistent_pull_policy::validate;
use consistent_pull_policy_survey::{self as survey, Registries};
use serde_json::{Value, json};

use crate::answers::MANIFEST_DIGEST;
use crate::generate::Case;
use crate::json::entries_in;

/// Answers one host call of this policy. The arguments are the call's namespace, operation and
/// payload. The error is the error text that this policy gets.
pub type HostCall = dyn Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// Something that runs this policy: the crate itself, or a host with the built module.
pub trait Policy {
    /// Calls `validate` with a payload like that of a policy server.
    ///
    /// # Errors
    /// If there is no answer.
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String>;

    /// Calls `validate_settings`.
    ///
    /// # Errors
    /// If there is no answer.
    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String>;
}

/// This policy's crate, compiled for this machine.
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl Policy for Native {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        let mut client = |image: &str| {
            let image = Value::from(image).to_string();
            let answer = host("oci", MANIFEST_DIGEST, image.as_bytes())?;
            let answer: Value =
                serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
            Ok(answer["digest"].as_str().unwrap_or_default().to_owned())
        };
        validate::validate(payload, &mut client).map_err(|error| error.to_string())
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        validate::validate_settings(settings).map_err(|error| error.to_string())
    }
}

impl survey::Policy for Native {
    fn validate(&mut self, payload: &str, registries: &mut Registries) -> Result<Vec<u8>, String> {
        let answer = validate::validate(payload.as_bytes(), &mut |image| registries.digest(image));
        answer.map_err(|error| error.to_string())
    }
}

/// The answer to one request, and the lookups that this policy made for it.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The answer, parsed from JSON.
    pub answer: Value,
    /// The images that were looked up, in their order.
    pub calls: Vec<String>,
}

/// Asks this policy whether settings are valid.
///
/// # Errors
/// If they are not, or if there is no answer.
pub fn accepts_settings(policy: &dyn Policy, settings: &Value) -> Result<(), String> {
    let answer = policy.validate_settings(settings.to_string().as_bytes())?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    if answer["valid"] == true {
        return Ok(());
    }
    Err(format!("the settings are refused: {}", answer["message"]))
}

/// The payload of `validate`. A host reads a request with types, so it leaves out each field that
/// is null. It sends the objects as they are.
#[must_use]
pub fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    const AS_THEY_ARE: [&str; 3] = ["object", "oldObject", "options"];
    let mut request = request.clone();
    for (key, value) in request.as_object_mut().into_iter().flatten() {
        if !AS_THEY_ARE.contains(&key.as_str())
            && let Value::Object(fields) = value
        {
            fields.retain(|_, value| !value.is_null());
        }
    }
    if let Value::Object(fields) = &mut request {
        fields.retain(|_, value| !value.is_null());
    }
    json!({"request": request, "settings": settings})
        .to_string()
        .into_bytes()
}

/// Runs this policy on a case.
///
/// # Errors
/// If there is no answer, or an answer that isn't JSON.
pub fn observe(policy: &dyn Policy, case: &Case) -> Result<Observed, String> {
    let calls = Arc::<Mutex<Vec<String>>>::default();
    let host: Arc<HostCall> = {
        let (answers, calls) = (case.answers.clone(), Arc::clone(&calls));
        Arc::new(move |namespace, operation, payload| {
            if namespace != "oci" {
                return Ok(Vec::new());
            }
            let image: String =
                serde_json::from_slice(payload).map_err(|error| error.to_string())?;
            let answer = answers.call(operation, &image);
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(image);
            answer.map(|answer| answer.to_string().into_bytes())
        })
    };
    let answer = policy.validate(&payload(&case.request, &case.settings), host)?;
    let answer = serde_json::from_slice(&answer).map_err(|error| format!("answer: {error}"))?;
    let calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Observed { answer, calls })
}

impl Observed {
    pub(crate) fn is_accepted(&self) -> bool {
        self.answer["accepted"] == true
    }

    pub(crate) fn is_changed(&self) -> bool {
        !self.answer["mutated_object"].is_null()
    }

    pub(crate) fn warnings(&self) -> &[Value] {
        crate::json::elements(&self.answer, "warnings")
    }

    /// Returns the entries of an audit annotation that holds a JSON list. Without the annotation,
    /// there are none.
    pub(crate) fn list(&self, annotation: &str) -> Vec<Value> {
        entries_in(&self.answer["audit_annotations"][annotation]).unwrap_or_default()
    }

    /// Returns the object that an API server would store: the changed object, or else that of the
    /// request.
    pub(crate) fn object_after(&self, request: &Value) -> Value {
        match &self.answer["mutated_object"] {
            Value::Null => request["object"].clone(),
            object => object.clone(),
        }
    }

    /// Returns the answer without the changed object, as text.
    pub(crate) fn told(&self) -> String {
        let mut told = self.answer.clone();
        told["mutated_object"].take();
        told.to_string()
    }
}
