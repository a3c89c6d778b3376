//! What a policy may ask of its host, by waPC host calls, and who answers.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Whoever answers a policy's host calls: this host's own [`HostFunctions`], or any closure.
pub trait Capabilities: Send + Sync {
    /// Answers a host call.
    ///
    /// # Errors
    /// The text that the guest gets.
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

/// For a policy that asks for nothing: its log is printed, and each capability is refused in the real
/// hosts' words.
#[must_use]
pub fn nothing_granted() -> Arc<dyn Capabilities> {
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

/// The real hosts' words for a capability that was not granted.
pub(crate) fn refusal(capability: &str) -> String {
    format!(
        "Policy has not been granted access to the '{capability}' host capability. \
         The violation has been reported."
    )
}

/// Prints a log entry of the policy, those below `info` only when `verbose`. One that is no log entry
/// is printed as it is: it is the policy's author who looks.
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

/// A log entry as the policy SDK's drain writes it.
#[derive(Deserialize)]
struct LogEntry {
    level: String,
    message: Option<String>,
    #[serde(flatten)]
    data: Map<String, Value>,
}
