//! The sentences for people: the message of a rejection, and the warnings.

use super::json_list::LIST_MAX;
use super::{Judged, Outcome};
use crate::examination::Examination;
use crate::lookup::Class;
use crate::request::Operation;
use crate::settings::Action;
use crate::shown::shown;

/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings`
/// has all that fit into 16 KiB.
const SENTENCES_MAX: usize = 20;

/// What becomes of the Pods of a pod template, what is wrong, and what to do about it. The sentence
/// is about the returned object, or about the one that came in.
fn sentence(judged: &Judged<'_, '_>, is_about_returned: bool) -> String {
    let (reason, place) = (&judged.finding.reason, judged.place);
    let image = if is_about_returned {
        shown(&place.image.now)
    } else {
        place.shown_image()
    };
    let (problem, help) = (reason.problem(place, &image), reason.help(place));
    format!("{}{problem}: {help}", judged.of_pods)
}

/// The findings, the most important first.
fn by_importance<'f, 'e, 'o>(findings: &'f [Judged<'e, 'o>]) -> Vec<&'f Judged<'e, 'o>> {
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|judged| judged.finding.rule);
    findings
}

/// The message of a rejection: a sentence for each finding that rejects, the most important first.
pub(super) fn message(findings: &[Judged<'_, '_>]) -> String {
    let mut rejecting = by_importance(findings);
    rejecting.retain(|judged| judged.outcome == Outcome::Rejects);
    let first = rejecting.iter().take(SENTENCES_MAX);
    let mut sentences: Vec<String> = first.map(|judged| sentence(judged, false)).collect();
    let hidden = rejecting.len().saturating_sub(SENTENCES_MAX);
    if hidden > 0 {
        sentences.push(format!("and {hidden} more"));
    }
    sentences.join("; ")
}

/// The warnings of an answer.
#[derive(Default)]
pub(super) struct Warnings {
    /// At most `WARNINGS_MAX` lines. If there are more, the last line says how many.
    pub(super) lines: Vec<String>,
    /// The sentences about what was found and not repaired, as far as an annotation has room for
    /// them. Empty if the Pod gets no annotation.
    pub(super) unrepaired: Vec<String>,
    /// The number of lines that are not shown.
    hidden: usize,
    /// The room for `unrepaired`, in bytes.
    room: usize,
}

impl Warnings {
    /// A line for each finding that warns, for each repair that is worth knowing, and for
    /// each lookup that failed. In a repaired Pod, the lines about what was not repaired describe
    /// the returned Pod. So a second run has the same lines.
    pub(super) fn of(
        examination: &Examination<'_>,
        findings: &[Judged<'_, '_>],
        is_repaired: bool,
    ) -> Self {
        // Only a Pod that is created gets the annotation.
        let room = if is_repaired && examination.request.creates {
            LIST_MAX
        } else {
            0
        };
        let mut warnings = Self {
            room,
            ..Self::default()
        };
        for judged in by_importance(findings) {
            let place = judged.place;
            match judged.outcome {
                Outcome::Warns => warnings.add(true, "", || sentence(judged, is_repaired)),
                Outcome::Repairs if is_repaired => {
                    if let Some(line) = judged.finding.reason.repaired(place) {
                        warnings.add(false, "", || line);
                    }
                }
                Outcome::Repairs | Outcome::Rejects => {}
            }
        }
        let is_template = examination.request.operation == Operation::Template;
        for (image, action, failure) in &examination.failed_lookups {
            let is_found = failure.class() == Class::NotFound && is_template;
            let suffix = match action {
                // A finding tells it.
                Action::Reject => continue,
                _ if is_found => continue,
                Action::Allow => " (kept as it is)",
                Action::UseCached if is_repaired => " (a node may use the image that it has)",
                Action::UseCached => "",
            };
            warnings.add(true, suffix, || {
                format!("{} {}: {}", shown(image), failure.problem(), failure.help())
            });
        }
        if warnings.hidden > 0 {
            warnings.lines.pop();
            let hidden = warnings.hidden.saturating_add(1);
            warnings.lines.push(format!("and {hidden} more"));
        }
        warnings
    }

    /// Adds a sentence. It is not made if nothing shows it.
    fn add(&mut self, is_unrepaired: bool, suffix: &str, sentence: impl FnOnce() -> String) {
        let is_shown = self.lines.len() < WARNINGS_MAX;
        let has_room = is_unrepaired && self.room > 0;
        if !is_shown {
            self.hidden = self.hidden.saturating_add(1);
        }
        if is_shown || has_room {
            let sentence = sentence();
            if is_shown {
                self.lines.push([&sentence, suffix].concat());
            }
            if has_room {
                self.room = self.room.saturating_sub(sentence.len());
                self.unrepaired.push(sentence);
            }
        }
    }
}
