//! Recorded sessions: a policy's questions to registries with their answers, in the file format of
//! `kwctl run --record-host-capabilities-interactions`.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::registry::Registry;

/// A question of the policy to a registry.
#[derive(Debug, Deserialize)]
enum Question {
    OciManifestDigest { image: String },
}

/// A question and its answer. The question is YAML in a string of the session's YAML.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Entry {
    Exchange {
        request: String,
        response: RecordedAnswer,
    },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum RecordedAnswer {
    Success { payload: String },
    Error { message: String },
}

/// A recorded session that takes the place of the registries. It answers questions only in their
/// recorded order.
pub struct Session(Mutex<VecDeque<Entry>>);

impl Session {
    /// Reads a session.
    ///
    /// # Errors
    /// If there is no such file, or if it is no session.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read session {shown}"))?;
        let entries = yaml_serde::from_str(&text);
        let entries = entries.with_context(|| format!("cannot parse session {shown}"))?;
        Ok(Self(Mutex::new(entries)))
    }
}

impl Registry for Session {
    fn digest(&self, image: &str) -> Result<String, String> {
        let next = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let Some(Entry::Exchange { request, response }) = next else {
            return Err("the list of recorded responses is empty".to_owned());
        };
        match yaml_serde::from_str::<Question>(&request) {
            Ok(Question::OciManifestDigest { image: recorded }) if recorded == image => {
                match response {
                    RecordedAnswer::Success { payload } => Ok(payload),
                    RecordedAnswer::Error { message } => Err(message),
                }
            }
            _ => Err(format!(
                "Replay error: the session has {request}, not the digest of {image}"
            )),
        }
    }
}
