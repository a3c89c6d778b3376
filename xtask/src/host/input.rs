//! What a policy is called with: an admission request, as Kubewarden's hosts send it, and settings.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

/// An `AdmissionRequest` of admission.k8s.io/v1.
pub type AdmissionRequest = Map<String, Value>;

/// The fields that Kubewarden's hosts know. A host drops each other field, and each field that is
/// `null`.
const FIELDS: &str = "uid kind resource subResource requestKind requestResource requestSubResource name namespace \
    operation userInfo object oldObject dryRun options";

/// The fields of `userInfo` that Kubewarden's hosts know.
const USER_FIELDS: &str = "extra groups uid username";

/// Reads a request from JSON: an `AdmissionReview`, or the bare `AdmissionRequest` in it.
///
/// # Errors
/// If the text is neither of them, or if a field is missing that every request has.
pub fn parse_review(text: &str) -> Result<AdmissionRequest> {
    let mut value: Value = serde_json::from_str(text).context("the request is not JSON")?;
    if value["kind"] == "AdmissionReview" {
        value = value["request"].take();
    }
    let Value::Object(mut request) = value else {
        bail!("this is neither an AdmissionReview nor an AdmissionRequest");
    };
    for field in ["uid", "kind", "resource", "operation", "userInfo"] {
        ensure!(request.contains_key(field), "the request lacks {field}");
    }
    keep(&mut request, FIELDS);
    if let Some(Value::Object(user)) = request.get_mut("userInfo") {
        keep(user, USER_FIELDS);
    }
    Ok(request)
}

fn keep(object: &mut Map<String, Value>, fields: &str) {
    object.retain(|key, value| fields.split(' ').any(|field| field == key) && !value.is_null());
}

/// The settings of a policy: a JSON object.
pub type Settings = Map<String, Value>;

/// Reads the settings from a file in YAML or JSON, else from an argument in JSON. Without a file
/// and an argument, the settings are empty. If the file begins with the manifest of a policy, the
/// settings are those of this policy.
///
/// # Errors
/// If there is no such file, or if its value is no object.
pub fn read_settings(path: Option<&Path>, json: Option<&str>) -> Result<Settings> {
    let value = match (path, json) {
        (Some(path), _) => {
            let shown = path.display();
            let text = fs::read_to_string(path);
            let text = text.with_context(|| format!("cannot read settings {shown}"))?;
            let first = yaml_serde::Deserializer::from_str(&text).next();
            let first = first.map(Value::deserialize).transpose();
            let first = first.with_context(|| format!("cannot parse settings {shown}"))?;
            let mut first = first.unwrap_or_default();
            if first["kind"] == "ClusterAdmissionPolicy" {
                first["spec"]["settings"].take()
            } else {
                first
            }
        }
        (None, Some(json)) => {
            serde_json::from_str(json).context("cannot parse --settings-json as JSON")?
        }
        (None, None) => Value::Null,
    };
    match value {
        Value::Null => Ok(Settings::new()),
        Value::Object(settings) => Ok(settings),
        _ => bail!("Invalid settings in CRD, not an object"),
    }
}

/// The payload of `validate`. The payload is made from a `Value`, as in Kubewarden's hosts, so that
/// the policy sees the keys of each object sorted.
pub fn payload(request: &AdmissionRequest, settings: &Settings) -> Vec<u8> {
    json!({ "request": request, "settings": settings })
        .to_string()
        .into_bytes()
}
