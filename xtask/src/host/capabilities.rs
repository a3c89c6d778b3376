//! Host capabilities: the answers to a policy's waPC host calls.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Answers a policy's host calls. A closure is an implementation too.
pub(crate) trait Capabilities: Send + Sync {
    /// Answers a host call.
    ///
    /// # Errors
    /// With the text that the guest gets.
    fn call(
        &self,
        binding: &str,
        namespace: &str,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, String>;
}

impl<F> Capabilities for F
where
    F: Fn(&str, &str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync,
{
    fn call(
        &self,
        binding: &str,
        namespace: &str,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, String> {
        self(binding, namespace, operation, payload)
    }
}

/// Prints the policy's log and refuses every other host call, with the text of the real hosts.
pub(crate) fn nothing_granted() -> Arc<dyn Capabilities> {
    Arc::new(
        |_: &str, namespace: &str, operation: &str, payload: &[u8]| match (namespace, operation) {
            ("tracing", "log") => {
                log(payload, false);
                Ok(Vec::new())
            }
            _ => Err(refusal(&format!("{namespace}/{operation}"))),
        },
    )
}

/// The text with which the real hosts refuse a capability that was not granted.
pub(crate) fn refusal(capability: &str) -> String {
    format!(
        "Policy has not been granted access to the '{capability}' host capability. \
         The violation has been reported."
    )
}

/// Prints a log entry of the policy. An entry below `info` is printed only when `verbose`. A payload
/// that is no log entry is printed unchanged, for the policy's author.
pub(crate) fn log(payload: &[u8], verbose: bool) {
    let Ok(entry) = serde_json::from_slice::<LogEntry>(payload) else {
        eprintln!("policy log: {}", String::from_utf8_lossy(payload));
        return;
    };
    let level = entry.level.to_uppercase();
    if verbose || !matches!(level.as_str(), "DEBUG" | "TRACE") {
        let message = entry.message.unwrap_or_default();
        eprintln!("{level:>7} policy: {message} {}", Value::Object(entry.data));
    }
}

/// A log entry in the format of Kubewarden's SDK.
#[derive(Deserialize)]
struct LogEntry {
    level: String,
    message: Option<String>,
    #[serde(flatten)]
    data: Map<String, Value>,
}
