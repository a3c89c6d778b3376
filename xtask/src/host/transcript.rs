//! Transcripts of evaluations, which `cargo xtask soak` compares with the specification. A transcript has
//! the request, the settings, each host call with its answer, and the response. Calls that write the log
//! are left out.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde::Serialize;

use super::capabilities::Capabilities;
use super::evaluation::AdmissionResponse;
use super::settings::Settings;

/// A host call and its answer. Calls that write the log are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TranscriptCall {
    namespace: String,
    operation: String,
    payload: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The recorded host calls of an evaluation.
#[derive(Clone, Default)]
pub(crate) struct TranscriptRecorder(Arc<Mutex<Vec<TranscriptCall>>>);

impl TranscriptRecorder {
    /// Passes host calls on to `inner` and records them with their answers.
    pub(crate) fn record(&self, inner: Capabilities) -> Capabilities {
        let recorder = self.clone();
        Arc::new(move |call| {
            let result = inner(call);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if call.namespace != "tracing" {
                recorder.locked().push(TranscriptCall {
                    namespace: call.namespace.to_owned(),
                    operation: call.operation.to_owned(),
                    payload: text(call.payload),
                    answer: result.as_deref().ok().map(text),
                    error: result.as_ref().err().cloned(),
                });
            }
            result
        })
    }

    /// The host calls that were recorded so far.
    pub(crate) fn calls(&self) -> Vec<TranscriptCall> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<TranscriptCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One evaluation.
#[derive(Serialize)]
pub(crate) struct Transcript<'a> {
    /// The text that was read: a review or a bare request.
    pub(crate) request: &'a str,
    pub(crate) settings: &'a Settings,
    pub(crate) calls: Vec<TranscriptCall>,
    /// The reasons why the policy doesn't accept the settings. If there are any, there is no response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<&'a AdmissionResponse>,
}

impl Transcript<'_> {
    /// Adds a line of JSON to a file.
    pub(crate) fn append_to(&self, path: &Path) -> Result<()> {
        let mut line = serde_json::to_string(self).context("cannot write the transcript")?;
        line.push('\n');
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .with_context(|| format!("cannot write transcript {}", path.display()))
    }
}
