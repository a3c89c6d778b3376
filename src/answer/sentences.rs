//! The sentences for people: the message of a rejection, and the warnings.

use super::annotations::LIST_MAX;
use super::verdict::{Verdict, verdict};
use crate::entry::{Entry, Sentence, What};
use crate::pod::Pod;
use crate::sanitize::sanitize;
use crate::settings::Action;

/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings`
/// has all that fit into 16 KiB.
const SENTENCES_MAX: usize = 20;

/// A line of an answer: what is wrong, and what a person can do about it.
fn joined(prefix: &str, Sentence { problem, help, .. }: &Sentence) -> String {
    format!("{prefix}{problem}: {help}")
}

/// The sentence about an entry: about the returned object, or about the one that came in.
fn sentence(pod: &Pod<'_>, entry: &Entry<'_>, is_about_returned: bool) -> Option<Sentence> {
    let pull = pod.pulls.get(entry.pull)?;
    let image = if is_about_returned {
        pull.image()
    } else {
        pull.written_image
    };
    let write = entry.sentence.as_ref()?;
    Some(write(pull, &sanitize(image)))
}

/// The message of a rejection: a sentence for each entry that rejects, the most important first.
pub fn message(pod: &Pod<'_>, entries: &[Entry<'_>]) -> String {
    let mut hidden = 0_usize;
    let mut sentences = Vec::new();
    for entry in entries {
        let (verdict, prefix) = verdict(entry, pod.settings, pod.request.operation);
        if verdict != Verdict::Rejects {
            continue;
        }
        if sentences.len() < SENTENCES_MAX {
            let sentence = sentence(pod, entry, false);
            sentences.extend(sentence.map(|sentence| joined(prefix, &sentence)));
        } else {
            hidden = hidden.saturating_add(1);
        }
    }
    if hidden > 0 {
        sentences.push(format!("and {hidden} more"));
    }
    sentences.join("; ")
}

/// The warnings of an answer.
#[derive(Default)]
pub struct Warnings {
    /// At most `WARNINGS_MAX` lines. If there are more, the last line says how many.
    pub lines: Vec<String>,
    /// The sentences about what was found and not repaired, as far as an annotation has room for
    /// them. Empty if the Pod gets no annotation.
    pub unrepaired: Vec<String>,
}

/// A line for each entry that warns, and for each repair that is worth knowing. In a repaired Pod,
/// the lines about what was not repaired describe the returned Pod. So a second run has the same
/// lines.
pub fn warnings(pod: &Pod<'_>, entries: &[Entry<'_>], is_repaired: bool) -> Warnings {
    let mut warnings = Warnings::default();
    // Only a Pod that is created gets the annotation.
    let has_annotation = is_repaired && pod.request.creates;
    let mut room = if has_annotation { LIST_MAX } else { 0 };
    let mut hidden = 0_usize;
    for entry in entries {
        let (verdict, prefix) = verdict(entry, pod.settings, pod.request.operation);
        let is_shown = warnings.lines.len() < WARNINGS_MAX;
        let has_room = verdict == Verdict::Warns && room > 0;
        let sentence = || sentence(pod, entry, is_repaired);
        let line = match verdict {
            // Nothing shows it, so it is not written.
            Verdict::Warns if !is_shown && !has_room => Some(String::new()),
            Verdict::Warns => sentence().map(|sentence| joined(prefix, &sentence)),
            Verdict::Repairs if is_repaired => sentence().and_then(|sentence| sentence.repaired),
            _ => None,
        };
        let Some(line) = line else {
            continue;
        };
        if is_shown {
            let suffix = suffix(&entry.what, is_repaired);
            warnings.lines.push([&line, suffix].concat());
        } else {
            hidden = hidden.saturating_add(1);
        }
        if has_room {
            room = room.saturating_sub(line.len());
            warnings.unrepaired.push(line);
        }
    }
    if hidden > 0 {
        warnings.lines.pop();
        let hidden = hidden.saturating_add(1);
        warnings.lines.push(format!("and {hidden} more"));
    }
    warnings
}

/// What was done after a failed lookup.
const fn suffix(what: &What, is_repaired: bool) -> &'static str {
    match what {
        What::Lookup(_, Action::Allow, _) => " (kept as it is)",
        What::Lookup(_, Action::UseCached, _) if is_repaired => {
            " (a node may use the image that it has)"
        }
        _ => "",
    }
}
