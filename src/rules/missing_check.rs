//! *missing-check*: in a Pod with image checks, every image that a guarded place pulls has to be
//! covered. With `imageChecks.everyPod`, this rule applies to every Pod.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks. An image that is written after the checks has no check. Admission comes later, so this
//! policy sees the image.

use crate::examination::Examination;
use crate::examination::added_check::{AddedCheck, NoCheckSource};
use crate::examination::finding::{
    Finding, FindingField, FindingReason, FindingSubject, Repairability, RuleId,
};
use crate::examination::missing_checks::{UncoveredImage, checks_to_add, uncovered_images};
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};
use crate::settings::MissingCheckAction;

/// Finds the images that are not covered. Adds their checks or reports the images, as
/// `imageChecks.coverage` says.
pub fn add_missing_checks(examination: &mut Examination<'_>) {
    let coverage = examination.settings.image_checks.coverage;
    let has_checks = examination.has_image_checks || examination.settings.image_checks.every_pod;
    if !examination.review.request_type.is_before_start()
        || !has_checks
        || coverage == MissingCheckAction::Off
    {
        return;
    }
    let uncovered = uncovered_images(examination);
    if uncovered.is_empty() {
        return;
    }
    let way_out = match (
        examination.source_of_checks_to_add(),
        examination.added_check_source,
    ) {
        (Some(source), _) => {
            if let Some(checks) = checks_to_add(examination, &uncovered, source) {
                examination.added_checks = checks;
                return;
            }
            WayOut::AdditionsAreTooLarge
        }
        (None, Some(Err(reason))) => WayOut::NoneIsAdded(reason),
        (None, Some(Ok(_)) | None) => WayOut::AddOne,
    };
    let is_advice = examination.may_have_had_one_place()
        || (coverage != MissingCheckAction::Reject && way_out != WayOut::AdditionsAreTooLarge);
    for image in uncovered {
        let field = FindingField::MissingCheck {
            expected: "an image check".into(),
        };
        let place = image.place;
        let reason = NoCheckAdded {
            image,
            is_advice,
            way_out,
            has_user_namespace: examination.review.pod.has_user_namespace,
        };
        let mut finding = Finding::unrepairable(place, field, reason);
        if is_advice {
            finding.effect = Repairability::Advice;
        }
        examination.findings.push(finding);
    }
}

/// The end of the sentence about an image that gets no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WayOut<'p> {
    /// The author can add a check.
    AddOne,
    /// This Pod gets no checks.
    NoneIsAdded(NoCheckSource<'p>),
    /// The added checks together would be too large.
    AdditionsAreTooLarge,
}

/// An image that is not covered, and that gets no check.
#[derive(Clone, Copy, Debug)]
struct NoCheckAdded<'p> {
    image: UncoveredImage<'p>,
    is_advice: bool,
    way_out: WayOut<'p>,
    /// Whether the Pod's nodes can't mount image volumes because of `hostUsers: false`.
    has_user_namespace: bool,
}

impl FindingReason for NoCheckAdded<'_> {
    fn rule(&self) -> RuleId {
        RuleId::MissingCheck
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let policy = self.image.policy;
        let reason = match self.way_out {
            WayOut::AdditionsAreTooLarge => {
                "all missing checks together would be larger than 1 MiB".into()
            }
            WayOut::NoneIsAdded(NoCheckSource::NothingToCopy) => {
                "no check can be copied, set imageChecks.template".into()
            }
            WayOut::NoneIsAdded(NoCheckSource::TemplateNeedsVolume(volume)) => {
                let volume = UntrustedText(volume);
                sentence!(
                    "the Pod lacks the volume ",
                    volume,
                    " of imageChecks.template"
                )
            }
            WayOut::NoneIsAdded(NoCheckSource::NoImageVolumes) if self.has_user_namespace => {
                "no image volume is added beside hostUsers: false".into()
            }
            WayOut::NoneIsAdded(NoCheckSource::NoImageVolumes) => {
                "no image volume is added beside runtimeClassName".into()
            }
            WayOut::AddOne | WayOut::NoneIsAdded(NoCheckSource::Windows) => {
                match self.image.written_differently {
                    Some(other) if self.is_advice => return another_spelling(subject, other),
                    Some(other) => {
                        let way_out = sentence!("write both alike or add a check with ", policy);
                        return checked_in_another_spelling(subject, other, way_out);
                    }
                    None if self.way_out == WayOut::AddOne => sentence!("add one with ", policy),
                    None => "none is added on Windows".into(),
                }
            }
        };
        unchecked(subject, reason)
    }
}

impl FindingReason for AddedCheck<'_> {
    fn rule(&self) -> RuleId {
        RuleId::MissingCheck
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let way_out = sentence!("add ", UntrustedText(&self.name), " with ", self.policy);
        match self.written_differently {
            Some(other) => checked_in_another_spelling(subject, other, way_out),
            None => unchecked(subject, way_out),
        }
    }

    fn repair_warning<'s>(&'s self, subject: &FindingSubject<'s>) -> Option<Sentence<'s>> {
        if let Some(other) = self.written_differently {
            return Some(another_spelling(subject, other));
        }
        Some(sentence!(
            UntrustedText(&self.name),
            " was added: it pulls ",
            UntrustedText(&self.image),
            " with ",
            self.policy,
            " before ",
            subject.name,
            " does"
        ))
    }
}

fn unchecked<'s>(subject: &FindingSubject<'s>, way_out: Sentence<'s>) -> Sentence<'s> {
    sentence!(
        subject.name,
        " pulls ",
        subject.image,
        " but no image check pulls it first: ",
        way_out
    )
}

fn another_spelling<'s>(subject: &FindingSubject<'s>, other: &'s str) -> Sentence<'s> {
    sentence!(
        subject.image,
        " is checked as ",
        UntrustedText(other),
        ": a node asks the registry again for another spelling"
    )
}

fn checked_in_another_spelling<'s>(
    subject: &FindingSubject<'s>,
    other: &'s str,
    way_out: Sentence<'s>,
) -> Sentence<'s> {
    let spelling = another_spelling(subject, other);
    sentence!(
        subject.name,
        " has no check of its own, ",
        spelling,
        ", ",
        way_out
    )
}
