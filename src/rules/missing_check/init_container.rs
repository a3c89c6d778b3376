//! The fields of added init containers, and their position in the Pod.

use k8s_openapi::api::core::v1::Container;

use super::copy::copy;
use super::template::from_template;
use super::why_not::WhyNot;
use crate::examination::{Examination, Place, Role};
use crate::pod::List;

/// The fields of the added init containers, without names, images and pull policies, and the index
/// of the first of them: a copy of the last check that can be copied, or else the check template.
///
/// # Errors
/// Why none is added.
pub(super) fn fields(examination: &Examination<'_>) -> Result<(Container, usize), WhyNot> {
    let after_checks = init_containers(examination).rfind(|place| place.is_check());
    let after_checks = index_behind(after_checks);
    let mut why_not = WhyNot::NothingToCopy;
    for check in init_containers(examination).rev() {
        if check.role != Role::Check {
            continue;
        }
        match copy(examination, check) {
            Ok(Some(container)) => return Ok((container, after_checks)),
            Ok(None) => {}
            Err(field) => {
                let check = check.entry.name.to_owned();
                why_not = WhyNot::UnknownField { check, field };
            }
        }
    }
    let settings = &examination.settings.image_checks;
    let template = settings.template.as_ref().ok_or(why_not)?;
    let is_named = |place: &&Place<'_>| {
        let mut patterns = settings.insert_after.iter();
        patterns.any(|pattern| pattern.matches(place.entry.name))
    };
    let last_named = init_containers(examination).rfind(is_named);
    let container = from_template(template, examination, last_named)?;
    // A check of the template runs a program of a volume, so it stands behind the init container
    // that fills the volume.
    Ok((container, after_checks.max(index_behind(last_named))))
}

fn init_containers<'e, 'o>(
    examination: &'e Examination<'o>,
) -> impl DoubleEndedIterator<Item = &'e Place<'o>> {
    let places = examination.places.iter();
    places.filter(|place| place.entry.list == List::InitContainers)
}

/// The index behind a place. 0 without a place.
fn index_behind(place: Option<&Place<'_>>) -> usize {
    place.map_or(0, |place| place.entry.index.saturating_add(1))
}
