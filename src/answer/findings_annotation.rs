//! Writes findings as elements of the audit annotation `findings`, and as sentences.

use std::borrow::Cow;

use serde::Serialize;

use crate::examination::finding::{Finding, FindingSubject};
use crate::sentence::{Sentence, SentenceLength, UntrustedText, shorten};

/// The greatest length, in characters, of a text that the annotation `findings` repeats from an object.
const TEXT_MAX: usize = 512;

/// A finding, with the path of its field.
pub(super) struct FindingWithPath<'f, 'p> {
    pub(super) finding: &'f Finding<'p>,
    path: String,
}

impl<'f, 'p> FindingWithPath<'f, 'p> {
    pub(super) fn new(finding: &'f Finding<'p>, pod_spec: &'static [&'static str]) -> Self {
        Self {
            path: finding.path(pod_spec).to_string(),
            finding,
        }
    }

    fn subject(&self) -> FindingSubject<'_> {
        let place = self.finding.place;
        FindingSubject {
            path: UntrustedText(&self.path),
            name: UntrustedText(&place.name),
            image: UntrustedText(place.image_text()),
            policies: self.finding.policies,
        }
    }

    /// The sentence that says what is wrong and how to correct it.
    pub(super) fn sentence(&self, room: SentenceLength) -> Sentence<'_> {
        self.finding.reason.sentence(&self.subject(), room)
    }

    /// The warning about the repair. None if no warning is needed.
    pub(super) fn repair_warning(&self) -> Option<Sentence<'_>> {
        self.finding.reason.repair_warning(&self.subject())
    }

    /// The finding as an element of the audit annotation.
    pub(super) fn annotation(&self) -> FindingAnnotation<'_> {
        fn cut(text: &str) -> Cow<'_, str> {
            shorten(text, TEXT_MAX)
        }
        let finding = self.finding;
        FindingAnnotation {
            rule: finding.reason.rule().as_str(),
            path: &self.path,
            container: cut(&finding.place.name),
            image: cut(finding.place.image_text()),
            found: finding.found().map(cut),
            expected: finding.expected().map(cut),
        }
    }
}

/// An element of the audit annotation `findings`.
#[derive(Serialize)]
pub(super) struct FindingAnnotation<'f> {
    rule: &'static str,
    path: &'f str,
    container: Cow<'f, str>,
    image: Cow<'f, str>,
    found: Option<Cow<'f, str>>,
    expected: Option<Cow<'f, str>>,
}
