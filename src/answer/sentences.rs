//! The sentences for people: the message of a rejection, and the warnings.

use super::verdict::{Verdict, verdict};
use crate::pod::{Entry, Pod, Sentence, What};
use crate::sanitize::sanitize;
use crate::settings::Action;

/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings`
/// has all that fit into 16 KiB.
const SENTENCES_MAX: usize = 20;

/// The sentence about an entry, with the image of the returned object.
fn sentence(pod: &Pod, entry: &Entry) -> Option<Sentence> {
    let pull = pod.pulls.get(entry.pull)?;
    let image = if pod.is_repaired {
        pull.image()
    } else {
        pull.written_image
    };
    let write = entry.sentence.as_ref()?;
    Some(write(pull, &sanitize(image)))
}

/// A line of an answer: what is wrong, and what a person can do about it.
fn line(pod: &Pod, entry: &Entry, prefix: &str) -> Option<String> {
    let Sentence { problem, help, .. } = sentence(pod, entry)?;
    Some(format!("{prefix}{problem}: {help}"))
}

/// The message of a rejection: a sentence for each entry that rejects, the most important first.
pub fn message(pod: &Pod, rejecting: &[(&Entry, &str)]) -> String {
    let shown = rejecting.iter().take(SENTENCES_MAX);
    let lines = shown.filter_map(|(entry, prefix)| line(pod, entry, prefix));
    let mut lines: Vec<String> = lines.collect();
    let hidden = rejecting.len().saturating_sub(SENTENCES_MAX);
    if hidden > 0 {
        lines.push(format!("and {hidden} more"));
    }
    lines.join("; ")
}

/// The line about an entry that warns. A second run, which gets the returned object, has the same
/// line.
pub fn unrepaired(pod: &Pod, entry: &Entry) -> Option<String> {
    match verdict(pod, entry) {
        (Verdict::Warns, prefix) => line(pod, entry, prefix),
        _ => None,
    }
}

/// The warnings of an answer: a line for each entry that warns, and for each repair that is worth
/// knowing. If there are too many, the last line says how many more.
pub fn warnings(pod: &Pod) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in &pod.entries {
        match verdict(pod, entry) {
            // Nothing shows this line, so it is only counted.
            (Verdict::Warns, _) if lines.len() > WARNINGS_MAX => lines.push(String::new()),
            (Verdict::Warns, prefix) => {
                let suffix = suffix(pod, &entry.what);
                lines.extend(line(pod, entry, prefix).map(|line| [&line, suffix].concat()));
            }
            (Verdict::Repairs, _) if pod.is_repaired => {
                lines.extend(sentence(pod, entry).and_then(|sentence| sentence.repaired));
            }
            _ => {}
        }
    }
    if lines.len() > WARNINGS_MAX {
        let shown = WARNINGS_MAX.saturating_sub(1);
        let hidden = lines.len().saturating_sub(shown);
        lines.truncate(shown);
        lines.push(format!("and {hidden} more"));
    }
    lines
}

/// What was done after a failed lookup.
const fn suffix(pod: &Pod, what: &What) -> &'static str {
    match what {
        What::Lookup(_, Action::Allow, _) => " (kept as it is)",
        What::Lookup(_, Action::UseCached, _) if pod.is_repaired => {
            " (a node may use the image that it has)"
        }
        _ => "",
    }
}
