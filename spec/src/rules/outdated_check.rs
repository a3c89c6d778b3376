//! **outdated-check**: at UPDATE of a Pod, a container's image may have changed. If an image check still
//! has the image that the container had before, written alike, and no app container has this image any
//! more, there is a warning in every mode. There is no warning if the stored status says that the check
//! has passed.
//!
//! **Decided**: here an image volume is a check if an app container, or an init container that is no
//! native sidecar, mounts it. An exempt check is no check. The images are compared as they came in,
//! without the answers of registries.

use serde_json::Value;

use crate::image::Reference;
use crate::json::elements;
use crate::pod::{List, Place, Pod, RequestKind};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    if pod.request_kind != RequestKind::PodUpdate {
        return;
    }
    let app = of_list(pod, List::Containers);
    let changed = app.iter().filter_map(|place| {
        let stored = place.stored.as_deref()?;
        Reference::parse(stored).filter(|_| stored != place.image_before())
    });
    let before: Vec<Reference> = changed.collect();
    let now = app.iter();
    let now: Vec<Reference> = now
        .filter_map(|place| Reference::parse(place.image_before()))
        .collect();
    let is_outdated = |check: &usize| {
        let image = Reference::parse(pod.places[*check].image_before());
        image.is_some_and(|image| {
            let mut before = before.iter();
            before.any(|one| is_same(one, &image) && one.spelling == image.spelling)
                && !now.iter().any(|one| is_same(one, &image))
        })
    };
    let outdated: Vec<usize> = [List::InitContainers, List::Volumes]
        .into_iter()
        .flat_map(|list| pod.list(list))
        .filter(|&place| is_check(pod, &pod.places[place]))
        .filter(is_outdated)
        .filter(|&check| !has_passed(pod, &pod.places[check]))
        .collect();
    for check in outdated {
        let path = pod.image_path(check);
        pod.find("outdated-check", check, path, Repair::None, Weight::Warns);
    }
}

fn of_list<'p>(pod: &'p Pod, list: List) -> Vec<&'p Place> {
    let places = pod.list(list).into_iter();
    places.map(|place| &pod.places[place]).collect()
}

/// The init containers and the app containers. An ephemeral container is no carrier of a check volume.
fn containers<'p>(pod: &'p Pod) -> impl Iterator<Item = &'p Place> {
    let lists = [List::InitContainers, List::Containers].into_iter();
    lists.flat_map(|list| of_list(pod, list))
}

fn is_same(a: &Reference, b: &Reference) -> bool {
    let is_same_version = match (&a.digest, &b.digest) {
        (None, None) => a.tag == b.tag,
        (a, b) => a == b,
    };
    a.name() == b.name() && is_same_version
}

fn is_check(pod: &Pod, place: &Place) -> bool {
    let mut prefixes = pod.settings.name_prefixes().into_iter();
    let is_form_of_check = match place.list {
        List::InitContainers => !place.is_sidecar,
        List::Volumes => {
            let mut carriers = containers(pod);
            carriers.any(|one| !one.is_sidecar && one.mounts.contains(&place.name))
        }
        List::Containers | List::EphemeralContainers => false,
    };
    is_form_of_check && !place.is_exempt && prefixes.any(|prefix| place.name.starts_with(prefix))
}

/// Whether the status says that a check has passed: an init container has ended with exit code 0, or the
/// first carrier of a check volume has started.
fn has_passed(pod: &Pod, check: &Place) -> bool {
    let state = |place: &Place| {
        let key = match place.list {
            List::InitContainers => "initContainerStatuses",
            _ => "containerStatuses",
        };
        let statuses = elements(&pod.stored["status"], key).iter();
        let mut of_place = statuses.filter(|one| one["name"] == place.name.as_str());
        of_place
            .next_back()
            .map_or(Value::Null, |one| one["state"].clone())
    };
    if check.list == List::Volumes {
        containers(pod)
            .find(|one| one.mounts.contains(&check.name))
            .map(state)
            .is_some_and(|state| state["running"].is_object() || state["terminated"].is_object())
    } else {
        state(check)["terminated"]["exitCode"] == 0
    }
}
