//! Writes findings as elements of the audit annotation `findings`, and as sentences.

use std::borrow::Cow;

use serde::Serialize;

use crate::findings::Finding;
use crate::findings::sentence::{Sentence, SentenceLength, shorten};

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

    /// The sentence that says what is wrong and how to correct it.
    pub(super) fn sentence(&self, length: SentenceLength) -> Sentence<'_> {
        self.finding.sentence(&self.path, length)
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
