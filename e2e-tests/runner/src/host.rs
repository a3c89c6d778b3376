//! The hosts that run this policy: the crate without a host, a module in the embedded host, and
//! kwctl.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use consistent_pull_policy_promises::answers::{HOST_SECRET, MANIFEST_DIGEST};
use consistent_pull_policy_promises::policy::{Native, Policy, payload};
use serde_json::{Value, json};

use crate::case::Case;
use crate::notation::text;
use crate::registry::Registries;

/// What this policy says to a case.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// Why the settings are invalid. Then there is no answer.
    pub invalid: Option<String>,
    /// The answer, in the form of waPC's payload.
    pub answer: Value,
    /// The images that were looked up, in their order.
    pub(crate) calls: Vec<String>,
}

impl Evaluation {
    /// The entries of an audit annotation, or of the record of changes in the Pod.
    pub(crate) fn list(&self, key: &str) -> Vec<Value> {
        let annotations = match key {
            "record" => &self.answer["mutated_object"]["metadata"]["annotations"],
            _ => &self.answer["audit_annotations"],
        };
        let key = if key == "record" {
            "consistent-pull-policy/changes"
        } else {
            key
        };
        serde_json::from_str(text(&annotations[key])).unwrap_or_default()
    }
}

/// Runs this policy.
pub trait Host {
    /// Evaluates a case.
    ///
    /// # Errors
    /// If this policy gives no answer.
    fn evaluate(&self, case: &Case) -> Result<Evaluation>;
}

impl<P: Policy> Host for P {
    fn evaluate(&self, case: &Case) -> Result<Evaluation> {
        let settings = case.settings.to_string();
        let judged = self
            .validate_settings(settings.as_bytes())
            .map_err(|error| anyhow!(error))?;
        let judged: Value = serde_json::from_slice(&judged)?;
        if judged["valid"] == false {
            let invalid = judged["message"].as_str().unwrap_or_default().to_owned();
            return Ok(Evaluation {
                invalid: Some(invalid),
                ..Evaluation::default()
            });
        }
        let calls = Arc::new(Mutex::new(Vec::new()));
        let payload = payload(&case.request, &case.settings);
        let answer = self
            .validate(&payload, case.registries.host(&calls))
            .map_err(|error| anyhow!(error))?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let calls = calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Evaluation {
            invalid: None,
            answer,
            calls,
        })
    }
}

/// The real kwctl. It replays lookups in the order in which the crate makes them.
pub struct Kwctl {
    /// The program.
    pub program: PathBuf,
    /// The annotated module.
    pub module: PathBuf,
}

impl Host for Kwctl {
    fn evaluate(&self, case: &Case) -> Result<Evaluation> {
        let Evaluation { calls, .. } = Native.evaluate(case)?;
        let folder = tempfile::tempdir()?;
        let (request, session) = (
            folder.path().join("request.json"),
            folder.path().join("session.yaml"),
        );
        fs::write(&request, case.request.to_string())?;
        fs::write(&session, recorded(&calls, &case.registries)?)?;
        let output = Command::new(&self.program)
            .arg("run")
            .arg("--request-path")
            .arg(request)
            .args([
                "--settings-json",
                &case.settings.to_string(),
                "--replay-host-capabilities-interactions",
            ])
            .arg(session)
            .arg(&self.module)
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let [printed, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        // kwctl itself logs the error texts of registries, which have a secret of their own.
        let log = errors.replace(HOST_SECRET, "");
        ensure!(
            !log.contains("s3cr3t"),
            "a secret of the Pod is in the log: {errors}"
        );
        let mut invalid = errors
            .lines()
            .map(|line| line.split_once("Provided settings are not valid: "));
        if let Some((_, message)) = invalid.find_map(|line| line) {
            return Ok(Evaluation {
                invalid: Some(message.to_owned()),
                ..Evaluation::default()
            });
        }
        let error = errors.rsplit("Error: ").next().unwrap_or_default();
        let error = error.split("Stack backtrace").next().unwrap_or_default();
        ensure!(output.status.success(), "{error}");
        let answer = answer(&serde_json::from_str(&printed)?, &case.request["object"])?;
        Ok(Evaluation {
            invalid: None,
            answer,
            calls,
        })
    }
}

/// A session for kwctl with these lookups and their answers.
fn recorded(calls: &[String], registries: &Registries) -> Result<String> {
    let entries = calls.iter().map(|image| {
        // In YAML, a name that begins with a bracket needs quotes.
        let request = yaml_serde::to_string(&json!({"image": image})).unwrap_or_default();
        json!({
            "type": "Exchange",
            "request": format!("!OciManifestDigest\n{request}"),
            "response": match registries.answer(MANIFEST_DIGEST, image) {
                Ok(answer) => json!({"type": "Success", "payload": answer.to_string()}),
                Err(error) => json!({"type": "Error", "message": error}),
            },
        })
    });
    Ok(yaml_serde::to_string(&entries.collect::<Vec<Value>>())?)
}

/// The answer of the module, made from an `AdmissionResponse`.
fn answer(response: &Value, object: &Value) -> Result<Value> {
    let mut mutated = Value::Null;
    if let Some(patch) = response["patch"].as_str() {
        let patch: json_patch::Patch = serde_json::from_slice(&STANDARD.decode(patch)?)?;
        mutated = object.clone();
        json_patch::patch(&mut mutated, &patch)?;
    }
    Ok(json!({
        "accepted": response["allowed"],
        "message": response["status"]["message"],
        "code": response["status"]["code"],
        "mutated_object": mutated,
        "audit_annotations": response["auditAnnotations"],
        "warnings": response["warnings"],
    }))
}
