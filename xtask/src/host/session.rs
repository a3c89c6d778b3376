//! Recorded sessions: a policy's questions to registries with their answers. The file format is that of
//! `kwctl run --record-host-capabilities-interactions`, so kwctl and this program can exchange sessions.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::registry::{Question, Registry};

/// A question and its answer. The question is YAML in a string of the session's YAML.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Entry {
    Exchange { request: String, response: RecordedAnswer },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum RecordedAnswer {
    Success { payload: String },
    Error { message: String },
}

/// Passes questions on, and records them with their answers.
pub struct Recorder {
    registry: Arc<dyn Registry>,
    entries: Mutex<Vec<Entry>>,
}

impl Recorder {
    /// Makes a recorder that passes the questions on to `registry`.
    pub fn new(registry: Arc<dyn Registry>) -> Self {
        Self { registry, entries: Mutex::default() }
    }

    /// Writes the session. A session without questions is an empty list.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let text = yaml_serde::to_string(&*entries)?;
        fs::write(path, text).with_context(|| format!("cannot write session {}", path.display()))
    }
}

impl Registry for Recorder {
    fn answer(&self, question: &Question) -> Result<String, String> {
        let answer = self.registry.answer(question);
        let entry = Entry::Exchange {
            request: yaml_serde::to_string(question).map_err(|error| error.to_string())?,
            response: match answer.clone() {
                Ok(payload) => RecordedAnswer::Success { payload },
                // kwctl records an error without its causes.
                Err(error) => RecordedAnswer::Error {
                    message: error.lines().next().unwrap_or_default().to_owned(),
                },
            },
        };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        answer
    }
}

/// A recorded session that takes the place of the registries. It answers questions only in their recorded order.
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
    fn answer(&self, question: &Question) -> Result<String, String> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(Entry::Exchange { request, response }) = next else {
            return Err("the list of recorded responses is empty".to_owned());
        };
        match yaml_serde::from_str::<Question>(&request) {
            Ok(recorded) if recorded == *question => match response {
                RecordedAnswer::Success { payload } => Ok(payload),
                RecordedAnswer::Error { message } => Err(message),
            },
            _ => Err(format!("Replay error: the session has {request}, not {question:?}")),
        }
    }
}
