//! *missing-check*: every image of a Pod with image checks has to be covered.
//!
//! Controllers make the checks before they write users' patches and image overrides into the Pod.
//! An image that is written later has no check. Admission sees the final Pod.

mod free_names;

use std::rc::Rc;

use self::free_names::FreeNames;
use crate::examination::Examination;
use crate::examination::added_check::{AddedCheck, AddedCheckSource, NoCheckSource};
use crate::examination::configured_default::stable_check_policy;
use crate::examination::examined_container_or_volume::ExaminedContainerOrVolume;
use crate::examination::finding::{
    Finding, FindingField, FindingReason, FindingSubject, Repairability, RuleId,
};
use crate::pod::ContainerOrVolume;
use crate::pull_policy::PullPolicy;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};
use crate::settings::MissingCheckAction;

/// The largest size of all additions to a Pod, in bytes of JSON. Anybody who may create a Pod chooses
/// the size of the check that is copied.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// Finds the images that are not covered. It adds their checks or reports them, as
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

/// The images that are not covered, in the order of their first appearance.
fn uncovered_images<'p>(examination: &Examination<'p>) -> Vec<UncoveredImage<'p>> {
    let images = examination.image_groups();
    let by_spelling = images.pulls(&examination.places);
    let by_image = images.checks(&by_spelling);
    let unknown_answers = examination.answers_unknown_to_the_copy();
    let uncovered = by_spelling.iter().filter(|pulls| !pulls.is_covered());
    uncovered
        .filter_map(|pulls| {
            let (guarded, policy) = pulls.guarded?;
            let examined = examination.places.get(guarded)?;
            let other_check = by_image
                .get(pulls.image)
                .and_then(|checks| examination.places.get(checks.first?));
            (!unknown_answers.may_cover(&examined.reference, policy)).then_some(UncoveredImage {
                guarded,
                place: examined.place,
                policy,
                written_differently: other_check.map(ExaminedContainerOrVolume::image),
            })
        })
        .collect()
}

/// The checks of these images. None if the checks would make the Pod too large. The sizes are added
/// up before anything is written.
fn checks_to_add<'p>(
    examination: &Examination<'p>,
    uncovered: &[UncoveredImage<'p>],
    source: AddedCheckSource<'p>,
) -> Option<Vec<Rc<AddedCheck<'p>>>> {
    let (review, settings) = (examination.review, examination.settings);
    let fields_size = source.fields_size();
    let carriers = source.carrier_count(review, settings);
    let mut names = FreeNames::of(examination, source);
    let mut size: usize = 0;
    let mut checks = Vec::new();
    for image in uncovered {
        let examined = examination.places.get(image.guarded)?;
        let check = AddedCheck {
            name: names.next(),
            image: examined.image_after(),
            policy: stable_check_policy(examined, image.policy, settings),
            source,
            guarded: image.guarded,
            place: image.place,
            written_differently: image.written_differently,
        };
        size = size.saturating_add(check.size(fields_size, carriers));
        if size > ADDITIONS_MAX {
            return None;
        }
        checks.push(Rc::new(check));
    }
    Some(checks)
}

/// An image that is not covered.
#[derive(Clone, Copy, Debug)]
struct UncoveredImage<'p> {
    /// The index of the examined place that pulls it with the strongest pull policy.
    guarded: usize,
    /// The place at this index.
    place: &'p ContainerOrVolume<'p>,
    /// The pull policy of this place.
    policy: PullPolicy,
    /// The image of a check that writes the same image differently, if there is one.
    written_differently: Option<&'p str>,
}

/// The end of the sentence about an image that gets no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WayOut {
    /// The author can add a check.
    AddOne,
    /// Windows Pods get no checks.
    NoneOnWindows,
    /// No check can be copied, and there is no template.
    SetTemplate,
    /// The Pod has resources of its own, and the check would ask for more.
    NoneBesidePodResources,
    /// The checks would make the Pod too large.
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
