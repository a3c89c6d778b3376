//! Differential runs: one [`Case`] goes through the specification (this crate) and through the
//! WebAssembly module, and the two answers are compared. A [`Policy`] runs the module. This file
//! answers the module's host calls: lookups get the registry answers of the case.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::answers::{Answers, Failure};
use crate::compare::{Observed, differences};
use crate::generate::{Case, bytes, case, shrink};
use crate::{Verdict, validate};

/// Answers one host call of the module. The arguments are the call's namespace, operation and
/// payload. The error is the error text that the module gets.
pub type HostCall = dyn Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// Runs the module in a host, with a new instance for each call.
pub trait Policy {
    /// Calls `validate` with a payload like that of a policy server.
    ///
    /// # Errors
    /// If the module gives no answer.
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String>;

    /// Calls `validate_settings`.
    ///
    /// # Errors
    /// If the module gives no answer.
    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String>;
}

/// A case on which specification and module differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The case. If [`check_number`] returns the difference, [`shrink`] has made the case smaller.
    pub case: Case,
    /// The verdict of the specification.
    pub verdict: Verdict,
    /// The module's answer and host calls.
    pub observed: Observed,
    /// The differences, one line each.
    pub lines: Vec<String>,
}

impl std::error::Error for Difference {}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\nsettings {}\nrequest {}\nregistries {:?}\nspecified {:#?}\nmodule {:#}\nhost calls {:?}",
            self.lines.join("\n"),
            self.case.settings,
            self.case.request,
            self.case.answers,
            self.verdict,
            self.observed.answer,
            self.observed.calls,
        )
    }
}

/// Runs one case through the specification and the module.
///
/// # Errors
/// The difference. If [`observe`] fails, the difference has one line: the error of [`observe`].
pub fn check(policy: &impl Policy, case: &Case) -> Result<(), Box<Difference>> {
    let verdict = validate(&case.request, &case.settings, &case.answers);
    let mut observed = Observed::default();
    let lines = match observe(policy, case) {
        Ok(seen) => {
            observed = seen;
            differences(case, &verdict, &observed)
        }
        Err(problem) => vec![problem],
    };
    if lines.is_empty() {
        return Ok(());
    }
    Err(Box::new(Difference {
        case: case.clone(),
        verdict,
        observed,
        lines,
    }))
}

/// Makes a case from `seed` and `number`, and runs it. If specification and module differ on this
/// case, searches for a smaller case with the same [`kinds`] of differences.
///
/// # Errors
/// The difference of the smallest case that was found, as [`check`] returns it.
pub fn check_number(policy: &impl Policy, seed: u64, number: u64) -> Result<(), Box<Difference>> {
    let bytes = bytes(seed, number);
    let Err(first) = check(policy, &case(&bytes)) else {
        return Ok(());
    };
    let kind = kinds(&first);
    let small = shrink(&bytes, |case| {
        check(policy, case).is_err_and(|difference| kinds(&difference) == kind)
    });
    check(policy, &case(&small))
}

/// Returns the kinds of a difference: the text before the first colon of each line. [`check_number`]
/// accepts a smaller case only if the kinds stay the same.
#[must_use]
pub fn kinds(difference: &Difference) -> Vec<String> {
    let kinds = difference
        .lines
        .iter()
        .map(|line| line.split(':').next().unwrap_or_default());
    kinds.map(str::to_owned).collect()
}

/// Runs the module on a case.
///
/// # Errors
/// If the module gives no answer or an answer that isn't JSON, or if it refuses the settings.
pub fn observe(policy: &impl Policy, case: &Case) -> Result<Observed, String> {
    let settings = case.settings.to_string();
    let answer = policy.validate_settings(settings.as_bytes())?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    if answer["valid"] != true {
        return Err(format!(
            "settings: specified as valid, module {}",
            answer["message"]
        ));
    }
    let host = Arc::new(Host {
        answers: case.answers.clone(),
        asked: Mutex::default(),
    });
    let calls = Arc::clone(&host);
    let payload = json!({"request": case.request, "settings": case.settings}).to_string();
    let answer = policy.validate(
        payload.as_bytes(),
        Arc::new(move |namespace, operation, payload| calls.call(namespace, operation, payload)),
    )?;
    let answer = serde_json::from_slice(&answer).map_err(|error| format!("answer: {error}"))?;
    let calls = host
        .asked
        .lock()
        .map_err(|error| error.to_string())?
        .clone();
    Ok(Observed { answer, calls })
}

struct Host {
    answers: Answers,
    asked: Mutex<Vec<(String, String)>>,
}

impl Host {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let mut asked = self.asked.lock().map_err(|error| error.to_string())?;
        if (namespace, operation) == ("tracing", "log") {
            return Ok(Vec::new());
        }
        let image: String = serde_json::from_slice(payload)
            .map_err(|error| format!("{namespace} {operation}: {error}"))?;
        asked.push((operation.to_owned(), image.clone()));
        let answer = match (namespace, operation) {
            ("oci", "v1/manifest_digest") => {
                let digest = self.answers.manifest_digest(&image);
                digest.map(|digest| json!({"digest": digest}))
            }
            ("oci", "v1/oci_manifest") => self.answers.platforms(&image).map(manifest),
            _ => return Err(format!("unknown operation: {operation}")),
        };
        answer
            .map(|answer| answer.to_string().into_bytes())
            .map_err(|failure| words(failure, &image, operation))
    }
}

/// Returns the manifest of an image: an index of these platforms, or a manifest of one platform.
fn manifest(platforms: Option<Vec<(String, String)>>) -> Value {
    let descriptor = |kind: &str| {
        json!({
            "mediaType": format!("application/vnd.oci.image.{kind}.v1+json"),
            "digest": format!("sha256:{}", "4".repeat(64)),
            "size": 1,
        })
    };
    let mut manifest = json!({"schemaVersion": 2});
    let Some(platforms) = platforms else {
        manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json".into();
        manifest["config"] = descriptor("config");
        manifest["layers"] = json!([]);
        return manifest;
    };
    manifest["mediaType"] = "application/vnd.oci.image.index.v1+json".into();
    let entries = platforms.into_iter().map(|(os, architecture)| {
        let mut entry = descriptor("manifest");
        entry["platform"] = json!({"os": os, "architecture": architecture});
        if architecture == "arm64" {
            entry["platform"]["variant"] = "v8".into();
        }
        entry
    });
    manifest["manifests"] = entries.collect();
    manifest
}

/// Returns the error text of a Kubewarden host for a failure. `NotGranted` has one text. Each other
/// failure has several texts, and the length of `image` decides which of them is returned. Each
/// text except that of `NotGranted` contains a secret. No answer of the module may show this secret.
fn words(failure: Failure, image: &str, operation: &str) -> String {
    let fail = "Callback evaluation failure: ";
    let url = "url https://s3cr3t-value@r.example.com/v2/a/manifests/t";
    let status = |code: u16| format!("Server error: {url}, code: {code}, message: s3cr3t-value");
    let envelope =
        |message: &str| format!("Registry error: {url}, envelope: OCI API errors: [{message}]");
    let unreachable = format!("error sending request for {url}");
    let texts = match failure {
        Failure::NotFound => vec![
            envelope("OCI API error: manifest unknown"),
            status(404),
            envelope("OCI API error: Failed to fetch \"v9\""),
            envelope("OCI API error: The named manifest is not known to the registry."),
        ],
        Failure::Denied => vec![
            status(403),
            format!("Not authorized: {url}\n\nCaused by:\n    Not authorized: {url}"),
            envelope("OCI API error: requested access to the resource is denied"),
            envelope(
                "OCI API error: Your authorization token has expired. Reauthenticate and try again.",
            ),
            envelope("OCI API error: Unauthenticated request. s3cr3t-value"),
        ],
        Failure::RateLimited => vec![
            envelope(
                "OCI API error: You have reached your unauthenticated pull rate limit. s3cr3t-value",
            ),
            status(429),
            envelope("OCI API error: Rate exceeded"),
        ],
        Failure::Unreachable => vec![
            format!(
                "{unreachable}\n\nCaused by:\n    tcp connect error: Connection refused (os error 111)"
            ),
            status(503),
        ],
        Failure::Unknown => vec!["s3cr3t-value".to_owned(), status(418)],
        Failure::NotGranted => {
            return format!(
                "Policy has not been granted access to the 'oci/{operation}' host capability. The violation has been reported."
            );
        }
    };
    let text = &texts[image.len() % texts.len()];
    format!("{fail}Fail to interact with OCI registry: {text}")
}
