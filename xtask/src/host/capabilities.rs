//! Host capabilities: the answers to a policy's waPC host calls.

use std::sync::Arc;

/// A host call of a policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WapcHostCall<'a> {
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
            log(call.payload);
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

/// Prints a log entry of the policy.
pub(crate) fn log(payload: &[u8]) {
    eprintln!("policy log: {}", String::from_utf8_lossy(payload));
}
