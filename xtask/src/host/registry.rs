//! Which of a policy's host calls are answered: the log, and the questions to registries, if they are granted.
//! Every other call is refused, in the words of Kubewarden's hosts.

use std::sync::Arc;

use serde::Deserialize;

use super::module::{Capabilities, HostCall};

/// A question of the policy to a registry. The variants have the names of kwctl's recorded sessions.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub enum Question {
    /// `oci/v1/manifest_digest`; the answer is `{"digest":"sha256:..."}`.
    OciManifestDigest {
        /// The image reference, as the policy wrote it.
        image: String,
    },
    /// `oci/v1/oci_manifest`; the answer is the image's manifest or index.
    OciManifest {
        /// The image reference, as the policy wrote it.
        image: String,
    },
}

/// Answers questions about images.
pub trait Registry: Send + Sync {
    /// The answer in JSON.
    ///
    /// # Errors
    /// The reason why there is no answer.
    fn answer(&self, question: &Question) -> Result<String, String>;
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
        let name = name(call);
        let question = match name.as_str() {
            "oci/v1/manifest_digest" => |image| Question::OciManifestDigest { image },
            "oci/v1/oci_manifest" => |image| Question::OciManifest { image },
            _ => return Err(refusal(call)),
        };
        let image = serde_json::from_slice(call.payload).map_err(|error| error.to_string())?;
        let answer = registry.answer(&question(image));
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
