//! *missing-check*: in a Pod with image checks, every image that a guarded place pulls has to be
//! covered. With `imageChecks.everyPod`, this rule applies to every Pod.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks. An image that is written after the checks has no check. Admission comes later, so this
//! policy sees the image.

mod check_form;
mod copied_fields;
mod free_names;

use self::check_form::{check_form, check_volume_carriers, predecessor};
use self::free_names::free_names;
use super::default::stable_check_policy;
use crate::examination::Examination;
use crate::examination::added_checks::{AddedCheck, AddedChecks};
use crate::examination::images::{checks_by_image, pulls_by_spelling};
use crate::examination::place::PlaceId;
use crate::findings::{Finding, FindingField, Reason, Repairability, WhyNoCheck};
use crate::pod::PodSpecList;
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::settings::MissingCheckAction;

/// Finds the images that are not covered. Adds their checks or reports the images, as
/// `imageChecks.coverage` says.
pub(crate) fn add_missing_checks(examination: &mut Examination<'_>) {
    let coverage = examination.settings.image_checks.coverage;
    let uncovered = uncovered_images(examination);
    if uncovered.is_empty() {
        return;
    }
    let why = match checks_to_add(examination, &uncovered) {
        Ok(added) => {
            examination.added = added;
            return;
        }
        Err(why) => why,
    };
    let is_advice = examination.may_have_had_one_place()
        || (coverage != MissingCheckAction::Reject && why != WhyNoCheck::TooLarge);
    for image in uncovered {
        let place = examination[image.guarded].place;
        let field = FindingField::MissingCheck {
            expected: "an image check".into(),
        };
        let reason = Reason::NoCheckAdded {
            why,
            written_differently: image.written_differently,
        };
        let mut finding = Finding::unrepairable(place, field, reason);
        finding.expected_policy = Some(image.policy);
        if is_advice {
            finding.repairability = Repairability::Advice;
        }
        examination.findings.push(finding);
    }
}

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without this
/// limit, a user could make the Pod huge: an added check may be a copy of a check that the user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// An image that is not covered.
pub(crate) struct UncoveredImage<'p> {
    /// The first guarded place that pulls the image with the strongest pull policy.
    pub(crate) guarded: PlaceId,
    /// The pull policy of this place.
    pub(crate) policy: PullPolicy,
    /// The image reference of a check of the same image in another spelling, if there is one.
    pub(crate) written_differently: Option<&'p str>,
}

/// The images that are not covered, each spelling once, in the order of their first appearance. The
/// copy leaves out an image if a lookup of the first installation may have shown that it is covered.
pub(crate) fn uncovered_images<'p>(examination: &Examination<'p>) -> Vec<UncoveredImage<'p>> {
    let by_spelling = pulls_by_spelling(&examination.places);
    if by_spelling.iter().all(|(_, pulls)| pulls.is_covered()) || has_only_one_place(examination) {
        return Vec::new();
    }
    let by_image = checks_by_image(&by_spelling);
    let unknown_answers = examination.answers_unknown_to_the_copy();
    let may_be_covered = |guarded, policy| {
        let reference = &examination[guarded].reference;
        let unknown_answers = unknown_answers.as_ref();
        unknown_answers.is_some_and(|answers| answers.may_cover(reference, policy))
    };
    let mut uncovered = Vec::new();
    for (spelling, pulls) in by_spelling {
        if let Some((guarded, policy)) = pulls.guarded
            && !pulls.is_covered()
            && !may_be_covered(guarded, policy)
        {
            let checks = by_image.get(spelling.image.0);
            let other_check = checks.and_then(|checks| checks.first);
            uncovered.push(UncoveredImage {
                guarded,
                policy,
                written_differently: other_check.map(|check| examination[check].image()),
            });
        }
    }
    uncovered
}

/// Whether one app container is the only place that is not exempt, not a native sidecar and not an
/// ephemeral container. No other container runs while this container waits for its image, so it needs
/// no check. An ephemeral container starts after the app containers.
fn has_only_one_place(examination: &Examination<'_>) -> bool {
    let mut others = examination
        .places_not_exempt()
        .filter(|place| match place.list {
            PodSpecList::InitContainers => !place.is_native_sidecar,
            PodSpecList::Volumes => true,
            PodSpecList::Containers | PodSpecList::EphemeralContainers => false,
        });
    others.next().is_none() && examination.has_one_app_container()
}

/// Whether a check can be added for each image that is not covered.
pub(crate) fn can_be_added(examination: &Examination<'_>) -> bool {
    checks_to_add(examination, &uncovered_images(examination)).is_ok()
}

/// The checks to add for these images.
///
/// A pod template gets no checks, because nothing removes an added check whose image is no longer used. If
/// this image disappeared from the registry, the workload could not start.
///
/// # Errors
/// The reason why no checks are added.
fn checks_to_add<'p>(
    examination: &Examination<'p>,
    uncovered: &[UncoveredImage<'p>],
) -> Result<AddedChecks<'p>, WhyNoCheck<'p>> {
    let (object, settings) = (examination.object, examination.settings);
    if settings.image_checks.coverage != MissingCheckAction::Fix {
        return Err(WhyNoCheck::NoneWanted);
    }
    let form = check_form(examination)?;
    if object.request_type != RequestType::PodCreate {
        return Err(WhyNoCheck::OnlyInPods);
    }
    if examination.may_have_had_one_place() {
        return Err(WhyNoCheck::NoneWanted);
    }
    let mut added = AddedChecks {
        checks: Vec::new(),
        predecessor: predecessor(examination),
        carriers: check_volume_carriers(&object.pod, settings),
    };
    let names = free_names(examination, &form);
    let mut size: usize = 0;
    for (image, name) in uncovered.iter().zip(names) {
        let examined = &examination[image.guarded];
        let check = AddedCheck {
            name,
            image: examined.image_after(),
            policy: stable_check_policy(examined, image.policy, settings),
            form: form.clone(),
            guarded: image.guarded,
            written_differently: image.written_differently,
        };
        size = size.saturating_add(check.size(added.carriers.len()));
        if size > ADDITIONS_MAX {
            return Err(WhyNoCheck::TooLarge);
        }
        added.checks.push(check);
    }
    Ok(added)
}
