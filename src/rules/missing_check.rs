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
    let way_out = match examination.added_check_source {
        Some(Ok(source)) => {
            if let Some(checks) = checks_to_add(examination, &uncovered, source) {
                examination.added_checks = checks;
                return;
            }
            WayOut::AdditionsAreTooLarge
        }
        Some(Err(NoCheckSource::NothingToCopy)) => WayOut::SetTemplate,
        Some(Err(NoCheckSource::PodHasResources)) => WayOut::NoneBesidePodResources,
        None if coverage == MissingCheckAction::Fix && examination.review.pod.is_windows => {
            WayOut::NoneOnWindows
        }
        None => WayOut::AddOne,
    };
    let is_advice =
        coverage != MissingCheckAction::Reject && way_out != WayOut::AdditionsAreTooLarge;
    for image in uncovered {
        let field = FindingField::MissingCheck {
            expected: "an image check".into(),
        };
        let place = image.place;
        let reason = NoCheckAdded {
            image,
            is_advice,
            way_out,
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
enum WayOut {
    /// The author can add a check.
    AddOne,
    /// Windows Pods get no checks.
    NoneOnWindows,
    /// No check can be copied, and there is neither a template nor a check volume.
    SetTemplate,
    /// The Pod sets `spec.resources`, and the check would ask for more resources.
    NoneBesidePodResources,
    /// The added checks together would be too large.
    AdditionsAreTooLarge,
}

/// An image that is not covered, and that gets no check.
#[derive(Clone, Copy, Debug)]
struct NoCheckAdded<'p> {
    image: UncoveredImage<'p>,
    is_advice: bool,
    way_out: WayOut,
}

impl FindingReason for NoCheckAdded<'_> {
    fn rule(&self) -> RuleId {
        RuleId::MissingCheck
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let policy = self.image.policy;
        match (self.image.written_differently, self.way_out) {
            (Some(other), WayOut::AddOne | WayOut::NoneOnWindows) if self.is_advice => {
                another_spelling(subject, other)
            }
            (Some(other), WayOut::AddOne | WayOut::NoneOnWindows) => {
                let way_out = sentence!("write both alike or add a check with ", policy);
                checked_in_another_spelling(subject, other, way_out)
            }
            (_, WayOut::AddOne) => unchecked(subject, sentence!("add one with ", policy)),
            (_, WayOut::NoneOnWindows) => unchecked(subject, "none is added on Windows".into()),
            (_, WayOut::SetTemplate) => unchecked(
                subject,
                "no check can be copied, set imageChecks.template".into(),
            ),
            (_, WayOut::NoneBesidePodResources) => {
                unchecked(subject, "none is added beside spec.resources".into())
            }
            (_, WayOut::AdditionsAreTooLarge) => unchecked(
                subject,
                "all missing checks together would be larger than 1 MiB".into(),
            ),
        }
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
