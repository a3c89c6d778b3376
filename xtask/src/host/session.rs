//! Recorded host calls: what a policy asked of its host and what it heard, in the file format of
//! `kwctl run --record-host-capabilities-interactions`, so that a session recorded by one tool
//! replays in the other.
//!
//! A session is strictly ordered. Each recorded request is YAML inside a YAML string, as kwctl
//! writes it.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::functions::{Failure, Question, Registries};

/// One request and its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Entry {
    Exchange { request: String, response: Response },
}

/// The host's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Response {
    Success { payload: String },
    Error { message: String },
}

/// Passes requests on and keeps what came back.
pub(crate) struct Recorder {
    inner: Arc<dyn Registries>,
    entries: Mutex<Vec<Entry>>,
}

impl Recorder {
    /// Records what `inner` answers.
    pub(crate) fn new(inner: Arc<dyn Registries>) -> Self {
        Self {
            inner,
            entries: Mutex::default(),
        }
    }

    /// Writes the session; one without any exchange is an empty list.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let text = yaml_serde::to_string(&*entries).context("cannot write the session as YAML")?;
        fs::write(path, text).with_context(|| format!("cannot write session {}", path.display()))
    }
}

impl Registries for Recorder {
    fn ask(&self, question: &Question) -> Result<String, Failure> {
        let answer = self.inner.ask(question);
        let request = yaml_serde::to_string(question)
            .map_err(|error| Failure::from(format!("cannot record the request: {error}")))?;
        let response = match &answer {
            Ok(payload) => Response::Success {
                payload: payload.clone(),
            },
            Err(failure) => Response::Error {
                message: failure.summary.clone(),
            },
        };
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Entry::Exchange { request, response });
        answer
    }
}

/// Answers from a recorded session, in its order.
#[derive(Debug)]
pub(crate) struct Replayer {
    entries: Mutex<VecDeque<Entry>>,
}

impl Replayer {
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

    /// How many recorded exchanges nobody asked for.
    pub(crate) fn left_over(&self) -> usize {
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl Registries for Replayer {
    fn ask(&self, question: &Question) -> Result<String, Failure> {
        let next = self
            .entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let Some(Entry::Exchange { request, response }) = next else {
            return Err("the list of recorded responses is empty".to_owned().into());
        };
        match yaml_serde::from_str::<Question>(&request) {
            Ok(expected) if expected == *question => match response {
                Response::Success { payload } => Ok(payload),
                Response::Error { message } => Err(message.into()),
            },
            Ok(expected) => Err(format!(
                "Replay error: unexpected request. Was expecting {expected:?}, got {question:?} instead"
            )
            .into()),
            // A capability that this host doesn't serve.
            Err(_) => Err(format!(
                "Replay error: unexpected request. Was expecting {}, got {question:?} instead",
                request.trim()
            )
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by kwctl 1.36.
    const SESSION: &str = "\
- type: Exchange
  request: |
    !OciManifestDigest
    image: localhost:5900/a/b:v1
  response:
    type: Success
    payload: '{\"digest\":\"sha256:0123\"}'
- type: Exchange
  request: |
    !OciManifestDigest
    image: localhost:5900/a/b:v2
  response:
    type: Error
    message: 'Fail to interact with OCI registry: Not authorized: url http://localhost:5900/v2/a/b/manifests/v2'
";

    fn digest(image: &str) -> Question {
        let image = image.to_owned();
        Question::OciManifestDigest { image }
    }

    struct Script;

    impl Registries for Script {
        fn ask(&self, question: &Question) -> Result<String, Failure> {
            if *question == digest("localhost:5900/a/b:v1") {
                return Ok(r#"{"digest":"sha256:0123"}"#.to_owned());
            }
            let summary = "Fail to interact with OCI registry: Not authorized: url http://localhost:5900/v2/a/b/manifests/v2";
            Err(Failure {
                summary: summary.to_owned(),
                details: format!("{summary}\n\nCaused by:\n    more"),
            })
        }
    }

    #[test]
    fn a_recorded_session_is_what_kwctl_would_have_written() {
        let recorder = Recorder::new(Arc::new(Script));
        assert!(recorder.ask(&digest("localhost:5900/a/b:v1")).is_ok());
        assert!(recorder.ask(&digest("localhost:5900/a/b:v2")).is_err());
        let entries = recorder.entries.lock().expect("lock");
        assert_eq!(yaml_serde::to_string(&*entries).expect("yaml"), SESSION);
    }

    #[test]
    fn a_session_replays_in_its_order() {
        let replayer = Replayer::parse(SESSION).expect("session");
        assert_eq!(replayer.left_over(), 2);
        assert_eq!(
            replayer
                .ask(&digest("localhost:5900/a/b:v1"))
                .expect("recorded"),
            r#"{"digest":"sha256:0123"}"#
        );
        let failure = replayer
            .ask(&digest("localhost:5900/a/b:v2"))
            .expect_err("recorded");
        assert!(failure.details.contains("Not authorized: "));
        assert!(!failure.details.contains('\n'));
        assert_eq!(replayer.left_over(), 0);
        let failure = replayer
            .ask(&digest("localhost:5900/a/b:v2"))
            .expect_err("exhausted");
        assert_eq!(failure.details, "the list of recorded responses is empty");
    }

    #[test]
    fn another_request_than_the_recorded_one_is_an_error() {
        let replayer = Replayer::parse(SESSION).expect("session");
        let failure = replayer.ask(&digest("nginx")).expect_err("unexpected");
        assert_eq!(
            failure.details,
            "Replay error: unexpected request. Was expecting OciManifestDigest { image: \"localhost:5900/a/b:v1\" }, \
             got OciManifestDigest { image: \"nginx\" } instead"
        );
        let image = "localhost:5900/a/b:v1".to_owned();
        let manifest = Question::OciManifest { image };
        let replayer = Replayer::parse(SESSION).expect("session");
        assert!(replayer.ask(&manifest).is_err());
        let other = "- type: Exchange\n  request: |\n    !DNSLookupHost\n    host: x\n  response:\n    type: Success\n    payload: '{}'\n";
        let failure = Replayer::parse(other)
            .expect("session")
            .ask(&digest("nginx"))
            .expect_err("unexpected");
        assert!(
            failure.details.starts_with("Replay error: "),
            "{}",
            failure.details
        );
    }

    #[test]
    fn what_is_no_session_is_an_error() {
        assert!(Replayer::parse("a: b").is_err());
        assert!(Replayer::parse("- type: Nope").is_err());
        assert_eq!(Replayer::parse("[]").expect("empty").left_over(), 0);
    }
}
