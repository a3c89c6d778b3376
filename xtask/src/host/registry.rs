//! Which of a policy's host calls are answered: the log, and the questions to registries, if they
//! are granted. Every other call is refused, in the words of Kubewarden's hosts.

use std::sync::Arc;

use super::module::{Capabilities, HostCall};

/// Answers questions about images.
pub trait Registry: Send + Sync {
    /// The digest of an image, as `{"digest":"sha256:..."}`. The image is written as the policy
    /// wrote it.
    ///
    /// # Errors
    /// The reason why there is no answer.
    fn digest(&self, image: &str) -> Result<String, String>;
}

/// Answers nothing but the policy's log.
pub fn nothing_granted() -> Capabilities {
    Arc::new(|call| log(call).ok_or_else(|| refusal(call)))
}

/// Answers the log and the questions to registries.
pub fn granted(registry: Arc<dyn Registry>) -> Capabilities {
    Arc::new(move |call| {
        if let Some(answer) = log(call) {
            return Ok(answer);
        }
        if name(call) != "oci/v1/manifest_digest" {
            return Err(refusal(call));
        }
        let image = serde_json::from_slice::<String>(call.payload);
        let answer = registry.digest(&image.map_err(|error| error.to_string())?);
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

fn name(call: HostCall<'_>) -> String {
    format!("{}/{}", call.namespace, call.operation)
}

fn refusal(call: HostCall<'_>) -> String {
    format!(
        "Policy has not been granted access to the '{}' host capability. The violation has been reported.",
        name(call)
    )
}
