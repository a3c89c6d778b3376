//! The reasons of the rule *registry* for findings and changes, with the sentence for each reason.

use crate::examination::failed_lookup::why_no_answer;
use crate::examination::finding::{FindingReason, FindingSubject, RuleId};
use crate::lookup::{AskedOrSkipped, FailureClass, LookupError};
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText, UntrustedTexts};

/// The image was pinned, so the pull policy changes too. The tag that had to be pinned is a finding,
/// so the change of the pull policy is no second finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyOfPinnedTag;

impl FindingReason for PolicyOfPinnedTag {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    fn is_finding(&self) -> bool {
        false
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        subject.now_pulls()
    }
}

/// The lookup failed, and `UseCached` allows the image that the node already has.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedImageAllowed;

impl FindingReason for CachedImageAllowed {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let way_out = subject.way_out();
        sentence!(
            subject.pulls(),
            " but its registry gives no digest: ",
            way_out
        )
    }
}

/// The lookup failed or was not made, and the setting for this failure is `Reject`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookupFailed(pub(super) LookupError);

impl FindingReason for LookupFailed {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    fn is_momentary(&self) -> bool {
        self.0.class != FailureClass::NotFound && self.0.attempt != AskedOrSkipped::LimitReached
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let why = why_no_answer(self.0);
        sentence!(subject.name, "'s image ", subject.image, " ", why)
    }
}

/// The image doesn't exist for a platform that the Pod asks for.
#[derive(Clone, Debug)]
pub(super) struct MissingPlatform {
    /// The platforms of the image.
    pub(super) has: UntrustedTexts,
    /// The platform that the image lacks.
    pub(super) lacks: String,
    /// The path of the Pod spec.
    pub(super) pod_spec: &'static [&'static str],
    /// The field of the Pod spec that asks for the platform.
    pub(super) field: &'static str,
}

impl FindingReason for MissingPlatform {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let lacks = UntrustedText(&self.lacks);
        let mut sentence = sentence!(
            subject.name,
            "'s image ",
            subject.image,
            " has ",
            &self.has,
            " only, but the Pod asks for ",
            lacks,
            ": build it for ",
            lacks,
            " or change "
        );
        for key in self.pod_spec {
            sentence.push(*key);
            sentence.push(".");
        }
        sentence.push(self.field);
        sentence
    }
}
