//! Recorded sessions, in the file format of `kwctl run --record-host-capabilities-interactions`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{fs, vec};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::registry::Registry;

/// A question of the policy to a registry.
#[derive(Deserialize)]
enum Question {
    OciManifestDigest { image: String },
}

/// A question and its answer. The question is YAML in a string of the
/// session's YAML.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum Entry {
    Exchange { request: String, response: Answer },
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Answer {
    Success { payload: String },
    Error { message: String },
}

/// A session that takes the place of the registries. It answers questions only in their recorded
/// order.
///
/// # Errors
/// If there is no such file, or if it is no session.
pub fn open(path: &Path) -> Result<Registry> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read session {shown}"))?;
    let entries: Vec<Entry> =
        yaml_serde::from_str(&text).with_context(|| format!("cannot parse session {shown}"))?;
    let entries = Mutex::new(entries.into_iter());
    Ok(Box::new(move |image| answer(&entries, image)))
}

fn answer(entries: &Mutex<vec::IntoIter<Entry>>, image: &str) -> Result<String, String> {
    let next = entries
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .next();
    let Some(Entry::Exchange { request, response }) = next else {
        return Err("the list of recorded responses is empty".to_owned());
    };
    match (yaml_serde::from_str(&request), response) {
        (Ok(Question::OciManifestDigest { image: asked }), _) if asked != image => Err(format!(
            "Replay error: the session has the digest of {asked}, not of {image}"
        )),
        (Ok(_), Answer::Success { payload }) => Ok(payload),
        (Ok(_), Answer::Error { message }) => Err(message),
        (Err(error), _) => Err(format!("Replay error: {error}")),
    }
}
