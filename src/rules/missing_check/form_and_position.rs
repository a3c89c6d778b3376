//! The form of the checks that a Pod gets, and their position in the Pod.

use std::rc::Rc;

use super::WhyNoCheck;
use super::copied_check::FieldsCopiedFromCheck;
use crate::examination::Examination;
use crate::examination::added_check::AddedCheckForm;
use crate::examination::examined_place::ExaminedPlace;
use crate::examination::role::Role;
use crate::image::Reference;
use crate::kubernetes_container_json;
use crate::pod_spec::{Place, PodSpec, PodSpecList};
use crate::request::ExaminedObject;
use crate::settings::{CheckTemplate, InitContainerOrImageVolume, Settings};

/// The form of the checks for a Pod, or for the Pods of a pod template, and the size of the fields that all checks have
/// in common, in bytes of JSON.
///
/// # Errors
/// The reason why the Pod gets no check.
pub(super) fn check_form<'p>(
    examination: &Examination<'p>,
) -> Result<(AddedCheckForm, usize), WhyNoCheck<'p>> {
    let (object, places) = (examination.object, &examination.places);
    let pod = &object.pod;
    let checks = &examination.settings.image_checks;
    if pod.is_windows() {
        return Err(WhyNoCheck::Windows);
    }
    let image_volume = match pod.refuses_image_volumes() {
        Some(beside) => Err(WhyNoCheck::NoImageVolumes { beside }),
        None => Ok((AddedCheckForm::ImageVolume, 0)),
    };
    if checks.made_of == InitContainerOrImageVolume::ImageVolume {
        return image_volume;
    }
    // Beside `spec.resources` an added check has no requests and no limits: its requests could exceed
    // those of the Pod, and the API server would refuse the Pod.
    let with_resources = !pod.has_resources();
    if let Some(copied) = copy_of_last_check(object, places, with_resources) {
        let form = AddedCheckForm::InitContainer(Rc::new(copied.container));
        return Ok((form, copied.size));
    }
    let template = checks.template.as_ref();
    let missing_volume = template.and_then(|template| missing_volume(template, object));
    if let (Some(template), None) = (template, missing_volume) {
        let container = template.container(with_resources);
        let size = kubernetes_container_json::to_json(&container).len();
        return Ok((AddedCheckForm::InitContainer(Rc::new(container)), size));
    }
    let is_check_volume = |one: &ExaminedPlace<'_>| {
        one.role == Role::ImageCheck && one.place.list == PodSpecList::Volumes
    };
    match missing_volume {
        _ if places.iter().any(is_check_volume) => image_volume,
        Some(volume) => Err(WhyNoCheck::TemplateNeedsVolume(volume)),
        None => Err(WhyNoCheck::NothingToCopy),
    }
}

/// The fields to copy from the last image check that can be copied. No annotation may give it an `AppArmor` profile:
/// the key of such an annotation names one container, so it gives a copy no profile.
fn copy_of_last_check(
    object: &ExaminedObject<'_>,
    places: &[ExaminedPlace<'_>],
    with_resources: bool,
) -> Option<FieldsCopiedFromCheck> {
    let with_profile = object.metadata.containers_with_app_armor_annotation();
    init_container_checks(places)
        .rev()
        .filter(|check| !with_profile.contains(&*check.name))
        .find_map(|check| FieldsCopiedFromCheck::of(check, with_resources))
}

/// The first volume that the check template mounts and that the Pod doesn't have. The claim templates
/// of a `StatefulSet` count as volumes.
fn missing_volume<'p>(template: &'p CheckTemplate, object: &ExaminedObject<'_>) -> Option<&'p str> {
    let claims = object.claim_template_names();
    let is_there = |name: &str| {
        let mut volumes = object.pod.volume_names.iter().chain(&claims);
        volumes.any(|volume| volume == name)
    };
    template.volumes().find(|name| !is_there(name))
}

fn init_container_checks<'c, 'p>(
    places: &'c [ExaminedPlace<'p>],
) -> impl DoubleEndedIterator<Item = &'p Place<'p>> + use<'c, 'p> {
    places
        .iter()
        .filter(|one| one.role == Role::ImageCheck && one.place.list == PodSpecList::InitContainers)
        .map(|one| one.place)
}

/// The init container directly before the added ones: the Pod's last check that is an init container. In
/// a Pod without such a check, it is the last init container that `imageChecks.after` names. None if the
/// added init containers come before all others.
pub(super) fn predecessor<'p>(examination: &Examination<'p>) -> Option<&'p Place<'p>> {
    let patterns = &examination.settings.image_checks.after;
    let is_named = |place: &&Place<'_>| patterns.iter().any(|one| one.matches(&place.name));
    let mut init_containers = examination.object.pod.list(PodSpecList::InitContainers);
    init_container_checks(&examination.places)
        .next_back()
        .or_else(|| init_containers.rfind(is_named))
}

/// The containers that mount the check volumes that this policy adds. The first init container that is
/// neither a native sidecar nor exempt mounts them, so that no app container starts before the volumes
/// are pulled. If there is no such init container, all app containers mount them. A native sidecar restarts
/// for the Pod's whole life, and each restart would need the images of the volumes.
pub(super) fn check_volume_carriers<'p>(
    pod: &'p PodSpec<'p>,
    settings: &Settings,
) -> Vec<&'p Place<'p>> {
    let can_carry = |place: &&Place<'_>| {
        let reference = Reference::parse(place.image_text()).ok();
        !place.is_native_sidecar && !settings.exempt.covers(&place.name, reference)
    };
    match pod.list(PodSpecList::InitContainers).find(can_carry) {
        Some(place) => vec![place],
        None => pod.list(PodSpecList::Containers).collect(),
    }
}
