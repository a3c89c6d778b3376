//! Host capabilities: the answers to a policy's waPC host calls.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A host call of a policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WapcHostCall<'a> {
    #[cfg_attr(not(feature = "registry"), allow(dead_code))]
    pub(crate) binding: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) payload: &'a [u8],
}

/// Answers a policy's host calls. An error is the text that the guest gets.
pub(crate) type Capabilities =
    Arc<dyn Fn(WapcHostCall<'_>) -> Result<Vec<u8>, String> + Send + Sync>;

/// Prints the policy's log and refuses every other host call, with the text of Kubewarden's hosts.
pub(crate) fn nothing_granted() -> Capabilities {
    Arc::new(|call| {
        if (call.namespace, call.operation) == ("tracing", "log") {
            log(call.payload, false);
            return Ok(Vec::new());
        }
        Err(refusal(&format!("{}/{}", call.namespace, call.operation)))
    })
}

/// The text with which Kubewarden's hosts refuse a capability that was not granted.
pub(crate) fn refusal(capability: &str) -> String {
    format!(
        "Policy has not been granted access to the '{capability}' host capability. \
         The violation has been reported."
    )
}

/// Prints a log entry of the policy. An entry below `info` is printed only if `verbose` is set. A
/// payload that is no log entry is printed as text, for the policy's author.
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
