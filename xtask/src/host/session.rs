//! Recorded sessions: a policy's calls to registries, with the answers. The file format is that of
//! `kwctl run --record-host-capabilities-interactions`, so kwctl and this program can exchange sessions.
//!
//! Calls are replayed only in their recorded order. Each recorded call is YAML in a string of the
//! session's YAML, as in kwctl.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::registry_calls::{Registries, RegistryCall, RegistryFailure};

/// One host call and its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum SessionEntry {
    Exchange {
        request: String,
        response: RecordedAnswer,
    },
}

/// The answer of the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum RecordedAnswer {
    Success { payload: String },
    Error { message: String },
}

/// Passes calls to registries on, and records these calls with their answers.
pub(crate) struct SessionRecorder {
    inner: Arc<dyn Registries>,
    entries: Mutex<Vec<SessionEntry>>,
}

impl SessionRecorder {
    /// Makes a recorder that passes the calls on to `inner`.
    pub(crate) fn new(inner: Arc<dyn Registries>) -> Self {
        Self {
            inner,
            entries: Mutex::default(),
        }
    }

    /// Writes the session. A session without calls is an empty list.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let entries = locked(&self.entries);
        let text = yaml_serde::to_string(&*entries).context("cannot write the session as YAML")?;
        fs::write(path, text).with_context(|| format!("cannot write session {}", path.display()))
    }
}

impl Registries for SessionRecorder {
    fn answer(&self, call: &RegistryCall) -> Result<String, RegistryFailure> {
        let answer = self.inner.answer(call);
        let request = yaml_serde::to_string(call).map_err(|error| {
            RegistryFailure::from(format!("cannot record the request: {error}"))
        })?;
        let response = match &answer {
            Ok(payload) => RecordedAnswer::Success {
                payload: payload.clone(),
            },
            Err(failure) => RecordedAnswer::Error {
                message: failure.summary.clone(),
            },
        };
        locked(&self.entries).push(SessionEntry::Exchange { request, response });
        answer
    }
}

/// Answers calls to registries from a recorded session, in the order of the session.
#[derive(Debug)]
pub(crate) struct SessionReplayer {
    entries: Mutex<VecDeque<SessionEntry>>,
}

impl SessionReplayer {
    /// Reads a session.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read session {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("cannot parse session {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, yaml_serde::Error> {
        Ok(Self {
            entries: Mutex::new(yaml_serde::from_str(text)?),
        })
    }
}

impl Registries for SessionReplayer {
    fn answer(&self, call: &RegistryCall) -> Result<String, RegistryFailure> {
        let next = locked(&self.entries).pop_front();
        let Some(SessionEntry::Exchange { request, response }) = next else {
            return Err("the list of recorded responses is empty".to_owned().into());
        };
        match yaml_serde::from_str::<RegistryCall>(&request) {
            Ok(expected) if expected == *call => match response {
                RecordedAnswer::Success { payload } => Ok(payload),
                RecordedAnswer::Error { message } => Err(message.into()),
            },
            _ => Err(format!("Replay error: the session has {request}, not {call:?}").into()),
        }
    }
}

/// Locks the entries, even if another thread panicked while it held the lock.
fn locked<T>(entries: &Mutex<T>) -> MutexGuard<'_, T> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}
