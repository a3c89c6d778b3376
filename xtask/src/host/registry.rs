//! Which of a policy's host calls are answered: the log, and the questions to registries, if they
//! are granted.

use std::sync::Arc;

use super::module::{Capabilities, HostCall};

/// Answers questions about images: with `{"digest":"sha256:..."}`, or with the reason why there is
/// no answer. The image is written as the policy wrote it.
pub type Registry = Box<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Answers nothing but the policy's log.
pub fn nothing_granted() -> Capabilities {
    Arc::new(|call| log(call).ok_or_else(|| refusal(call)))
}

/// Answers the log and the questions to registries.
pub fn granted(registry: Registry) -> Capabilities {
    Arc::new(move |call| {
        if let Some(answer) = log(call) {
            return Ok(answer);
        }
        if (call.namespace, call.operation) != ("oci", "v1/manifest_digest") {
            return Err(refusal(call));
        }
        let image = serde_json::from_slice::<String>(call.payload);
        let answer = registry(&image.map_err(|error| error.to_string())?);
        answer
            .map(String::into_bytes)
            .map_err(|error| format!("Callback evaluation failure: {error}"))
    })
}

/// Prints a line of the policy's log. `None` if the call is another one.
fn log(call: HostCall<'_>) -> Option<Vec<u8>> {
    let is_log = (call.namespace, call.operation) == ("tracing", "log");
    is_log.then(|| {
        eprintln!("policy log: {}", String::from_utf8_lossy(call.payload));
        Vec::new()
    })
}

/// The words of Kubewarden's hosts.
fn refusal(call: HostCall<'_>) -> String {
    format!(
        "Policy has not been granted access to the '{}/{}' host capability. The violation has been reported.",
        call.namespace, call.operation
    )
}
