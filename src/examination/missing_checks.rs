//! The images that are not covered, and the checks that can be added for them. *missing-check* adds
//! these checks. *weak-check* runs before *missing-check*, and needs to know whether they will be added.

use std::rc::Rc;

use super::Examination;
use super::added_check::{AddedCheck, AddedCheckSource};
use super::configured_default::stable_check_policy;
use super::examined_container_or_volume::ExaminedContainerOrVolume;
use super::free_check_names::FreeCheckNames;
use crate::pod::ContainerOrVolume;
use crate::pull_policy::PullPolicy;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without this
/// limit, a user could make the Pod huge: an added check may be a copy of a check that the user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// An image that is not covered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UncoveredImage<'p> {
    /// The index of the first guarded place that pulls the image with the strongest pull policy.
    pub(crate) guarded: usize,
    /// The place at this index.
    pub(crate) place: &'p ContainerOrVolume<'p>,
    /// The pull policy of this place.
    pub(crate) policy: PullPolicy,
    /// The image reference of a check of the same image in another spelling, if there is one.
    pub(crate) written_differently: Option<&'p str>,
}

/// The images that are not covered, each spelling once, in the order of their first appearance. The
/// copy leaves out an image if a lookup of the first installation may have shown that it is covered.
pub(crate) fn uncovered_images<'p>(examination: &Examination<'p>) -> Vec<UncoveredImage<'p>> {
    if examination.has_only_one_place {
        return Vec::new();
    }
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

/// Whether a check can be added for each image that is not covered.
pub(crate) fn can_be_added(examination: &Examination<'_>) -> bool {
    examination.source_of_checks_to_add().is_some_and(|source| {
        checks_to_add(examination, &uncovered_images(examination), source).is_some()
    })
}

/// The checks to add for these images. None if the checks and their mounts would be larger than
/// `ADDITIONS_MAX`. The sizes are added up before anything is written into the Pod.
pub(crate) fn checks_to_add<'p>(
    examination: &Examination<'p>,
    uncovered: &[UncoveredImage<'p>],
    source: AddedCheckSource<'p>,
) -> Option<Vec<Rc<AddedCheck<'p>>>> {
    let (review, settings) = (examination.review, examination.settings);
    let fields_size = source.fields_size();
    let carriers = source.carrier_count(review, settings);
    let mut names = FreeCheckNames::of(examination, source);
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
