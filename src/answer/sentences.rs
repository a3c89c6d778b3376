//! The sentences for people: the message of a rejection, and the warnings.

use super::{Judged, Outcome};
use crate::examination::{Examination, Place};
use crate::lookup::Failure;
use crate::settings::Action;
use crate::shown::shown;

/// The largest number of warnings in one answer.
const WARNINGS_MAX: usize = 10;
/// The largest number of findings in the message of a rejection. The audit annotation `findings` has more of them.
const SENTENCES_MAX: usize = 20;

/// What is wrong, and what to do about it.
fn sentence(judged: &Judged<'_, '_>, place: &Place<'_>) -> String {
    let reason = &judged.finding.reason;
    format!("{}: {}", reason.problem(place), reason.help(place))
}

/// The message of a rejection because of these findings: a sentence for each, the most important first.
pub(super) fn message<'j>(findings: impl Iterator<Item = &'j Judged<'j, 'j>>) -> String {
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|judged| judged.finding.reason.rule());
    let mut sentences: Vec<String> =
        findings.iter().take(SENTENCES_MAX).map(|one| sentence(one, one.place)).collect();
    match findings.len().saturating_sub(SENTENCES_MAX) {
        0 => {}
        1 => sentences.push("and 1 more finding".to_owned()),
        hidden => sentences.push(format!("and {hidden} more findings")),
    }
    sentences.join("; ")
}

/// The warnings: a line for each finding that rejects nothing, for each repair that is worth knowing, and for each lookup
/// that failed.
pub(super) fn warnings(
    examination: &Examination<'_>,
    findings: &[Judged<'_, '_>],
    is_repaired: bool,
) -> Vec<String> {
    let mut lines = Lines::default();
    for judged in by_importance(findings) {
        match judged.outcome {
            Outcome::Warns => lines.add(|| sentence(judged, judged.place)),
            Outcome::IsRepaired if is_repaired => {
                if let Some(line) = judged.finding.reason.repaired(judged.place) {
                    lines.add(|| line);
                }
            }
            Outcome::IsRepaired | Outcome::Rejects => {}
        }
    }
    for ((image, action), failure) in accepted_lookups(examination) {
        let done = match action {
            Action::KeepTag => " (kept as it is)",
            Action::UseCached if is_repaired => " (a node may use the image that it has)",
            Action::UseCached | Action::Reject => "",
        };
        lines.add(|| [&lookup_sentence(image, failure), done].concat());
    }
    lines.into_warnings()
}

/// What was found and not repaired, about the Pod that is returned. A second run finds the same sentences.
pub(super) fn unrepaired<'e>(
    examination: &'e Examination<'_>,
    findings: &'e [Judged<'_, '_>],
) -> impl Iterator<Item = String> {
    let warned = by_importance(findings).into_iter();
    let warned = warned.filter(|judged| judged.outcome == Outcome::Warns);
    let lookups = accepted_lookups(examination);
    warned
        .map(|judged| sentence(judged, &judged.place.after()))
        .chain(lookups.map(|((image, _), failure)| lookup_sentence(image, failure)))
}

fn by_importance<'f, 'e, 'o>(findings: &'f [Judged<'e, 'o>]) -> Vec<&'f Judged<'e, 'o>> {
    let mut findings: Vec<_> = findings.iter().collect();
    findings.sort_by_key(|judged| judged.finding.reason.rule());
    findings
}

/// The failed lookups that reject nothing.
fn accepted_lookups<'e>(
    examination: &'e Examination<'_>,
) -> impl Iterator<Item = (&'e (String, Action), &'e Failure)> {
    examination.failed_lookups.iter().filter(|((_, action), _)| *action != Action::Reject)
}

fn lookup_sentence(image: &str, failure: &Failure) -> String {
    format!("{} {}: {}", shown(image), failure.problem(), failure.help())
}

/// Lines of which only the first are shown. A line that is not shown is not made.
#[derive(Default)]
struct Lines {
    first: Vec<String>,
    hidden: usize,
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.first.len() < WARNINGS_MAX {
            self.first.push(line());
        } else {
            self.hidden = self.hidden.saturating_add(1);
        }
    }

    /// At most `WARNINGS_MAX` lines. The last one says how many more there are.
    fn into_warnings(mut self) -> Vec<String> {
        if self.hidden > 0 {
            self.first.pop();
            self.first.push(format!("and {} more warnings", self.hidden.saturating_add(1)));
        }
        self.first
    }
}
