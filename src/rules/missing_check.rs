//! *missing-check*: every image of a Pod with image checks has to be covered.
//!
//! Controllers make the checks before they write users' patches and image overrides into the Pod.
//! An image that comes in later has no check. Admission sees the final Pod.

mod free_names;

use std::rc::Rc;

use self::free_names::FreeNames;
use crate::examination::Examination;
use crate::examination::check_source::{AddedCheck, CheckSource};
use crate::examination::configured_default::stable_check_policy;
use crate::examination::examined_place::ExaminedPlace;
use crate::examination::finding::{
    Finding, FindingEffect, FindingField, FindingReason, FindingSubject, RuleId,
};
use crate::examination::image_groups::PullsOfSpelling;
use crate::pod::PodList;
use crate::pull_policy::PullPolicy;
use crate::sentence;
use crate::sentence::{ObjectText, Room, Sentence};
use crate::settings::MissingCheckAction;

/// The largest number of mounts that are added to a Pod. They take about a megabyte.
const MOUNTS_MAX: usize = 10_000;

/// Finds the images that are not covered. It adds their checks or reports them, as
/// `imageChecks.coverage` says.
pub fn add_missing_checks(examination: &mut Examination<'_>) {
    let settings = &examination.settings.image_checks;
    let coverage = settings.coverage;
    let has_checks = examination.has_image_checks || settings.every_pod;
    if !examination.review.request_type.is_before_start()
        || !has_checks
        || coverage == MissingCheckAction::Off
    {
        return;
    }
    let images = examination.image_groups();
    let by_spelling = images.pulls(&examination.places);
    let uncovered: Vec<&PullsOfSpelling> = by_spelling
        .iter()
        .filter(|pulls| !pulls.is_covered())
        .collect();
    if uncovered.is_empty() {
        return;
    }
    let by_image = images.checks(&by_spelling);
    let unknown_answers = examination.answers_unknown_to_the_copy();
    let pod = &examination.review.pod;
    let source = CheckSource::in_pod(pod, examination.settings, &examination.places);
    let is_wanted = examination.adds_missing_checks();
    let is_too_much = is_wanted && has_too_many_mounts(examination, source, uncovered.len());
    let mut names: Option<FreeNames<'_>> = None;
    for pulls in uncovered {
        let Some((guarded, policy)) = pulls.guarded else {
            continue;
        };
        let Some(examined) = examination.places.get(guarded) else {
            continue;
        };
        if unknown_answers.may_cover(&examined.reference, policy) {
            continue;
        }
        let written_differently = by_image
            .get(pulls.image)
            .and_then(|checks| examination.places.get(checks.first?))
            .map(ExaminedPlace::image);
        if is_wanted && !is_too_much {
            let names = names.get_or_insert_with(|| FreeNames::of(examination, source));
            let check = AddedCheck {
                name: names.next(),
                image: examined.image_after(),
                policy: stable_check_policy(examined, policy, examination.settings),
                source,
                guarded,
                place: examined.place,
                written_differently,
            };
            examination.added_checks.push(Rc::new(check));
        } else {
            let is_advice = coverage != MissingCheckAction::Reject && !is_too_much;
            let field = FindingField::MissingCheck {
                expected: "an image check".into(),
            };
            let reason = UncoveredImage {
                policy,
                written_differently,
                is_advice,
                is_windows: coverage == MissingCheckAction::Fix && pod.is_windows(),
            };
            let mut finding = Finding::unrepairable(examined.place, field, reason);
            if is_advice {
                finding.effect = FindingEffect::Advice;
            }
            examination.findings.push(finding);
        }
    }
}

/// Whether the added volumes, mounted on every app container of the Pod, would make it too large.
/// A thousand volumes and a thousand containers are more than any API server takes, and more than
/// the module's memory.
fn has_too_many_mounts(
    examination: &Examination<'_>,
    source: CheckSource<'_>,
    checks: usize,
) -> bool {
    let pod = &examination.review.pod;
    let containers = pod.list(PodList::Containers).count();
    source.is_mounted_by_app_containers(pod, examination.settings)
        && checks.saturating_mul(containers) > MOUNTS_MAX
}

/// An image that is not covered, and that gets no check.
#[derive(Clone, Copy, Debug)]
struct UncoveredImage<'p> {
    /// The strongest pull policy of the containers that pull it.
    policy: PullPolicy,
    /// The image of a check that writes the same image differently, if there is one.
    written_differently: Option<&'p str>,
    is_advice: bool,
    is_windows: bool,
}

impl FindingReason for UncoveredImage<'_> {
    fn rule(&self) -> RuleId {
        RuleId::MissingCheck
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: Room) -> Sentence<'s> {
        match self.written_differently {
            Some(other) if self.is_advice => another_spelling(subject, other),
            Some(other) => {
                let way_out = sentence!("write both alike or add a check with ", self.policy);
                checked_in_another_spelling(subject, other, way_out)
            }
            None if self.is_windows => unchecked(subject, "none is added on Windows".into()),
            None => unchecked(subject, sentence!("add one with ", self.policy)),
        }
    }
}

impl FindingReason for AddedCheck<'_> {
    fn rule(&self) -> RuleId {
        RuleId::MissingCheck
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: Room) -> Sentence<'s> {
        let way_out = sentence!("add ", ObjectText(&self.name), " with ", self.policy);
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
            ObjectText(&self.name),
            " was added: it pulls ",
            ObjectText(&self.image),
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
        ObjectText(other),
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
