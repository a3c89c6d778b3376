//! **replace-check**: image checks that are init containers are replaced with image volumes, so
//! that the Pod starts with fewer containers. In mode `Fix` this rule is the last one that acts. It
//! adds no finding.

use serde_json::Value;

use crate::pod::{Event, List, Pod, paths};
use crate::rules::missing_check::mount_of;
use crate::validity::quantity::billionths;

pub(crate) fn apply(pod: &mut Pod) {
    // The rule acts only with `replaceExisting`, in mode `Fix`, at CREATE of a Pod that has a
    // controller. In a Windows Pod no check is added or replaced.
    if !pod.settings.replace_existing()
        || pod.settings.mode() != "Fix"
        || pod.event != Event::PodCreate
        || !pod.has_controller
        || pod.is_windows()
    {
        return;
    }
    let names = volume_names(pod);
    let init = pod.list(List::InitContainers);
    let going: Vec<usize> = init
        .iter()
        .copied()
        .filter(|&place| pod.is_check(place))
        .filter(|&place| {
            let name = &pod.places[place].name;
            // **Decided**: a check stays an init container if a volume already has the same name.
            // It also stays if its name is longer than the 63 characters that a volume name may
            // have.
            !names.contains(name)
                && name.len() <= 63
                // A check also stays if it mounts an image volume that is not an image check.
                && !mounts_other_images(pod, place)
                && !is_named_elsewhere(pod, name)
        })
        .collect();
    let going = that_can_go(pod, &init, going);
    let checks = pod.checks();
    let removed: Vec<(usize, Value)> = going
        .into_iter()
        .map(|place| (place, take_out(pod, place)))
        .collect();
    let mut moved: Vec<String> = Vec::new();
    // *missing-check* may have added mounts of new volumes to a check that is now removed. The
    // carriers get these mounts first, before the mounts of the volumes that replace checks.
    for (_, container) in &removed {
        for mount in added_mounts(pod, container) {
            for carrier in pod.carriers() {
                pod.mount(carrier, mount.clone());
            }
        }
    }
    for (place, container) in removed {
        let (name, image, policy) = {
            let place = &pod.places[place];
            (place.name.clone(), place.image.clone(), place.policy)
        };
        pod.push_volume("replace-check", &name, &image, policy);
        let mounts = container.get("volumeMounts").and_then(Value::as_array);
        for mount in mounts.into_iter().flatten() {
            let volume = mount
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let is_check_volume = checks.iter().any(|&check| {
                let check = &pod.places[check];
                check.list == List::Volumes && check.name == volume && check.came_in.is_some()
            });
            if is_check_volume && !moved.iter().any(|name| name == volume) {
                moved.push(volume.to_owned());
            }
        }
        for carrier in pod.carriers() {
            pod.mount(carrier, mount_of(&name));
        }
    }
    // If a removed check mounted check volumes of the admission request, the carriers now mount these
    // volumes. **Decided**: the mounts are in the order of the volume names.
    moved.sort();
    for volume in moved {
        for carrier in pod.carriers() {
            if !pod.places[carrier].mounts.contains(&volume) {
                pod.mount(carrier, mount_of(&volume));
            }
        }
    }
}

/// Returns the checks of `going` that can be removed. `init` has all init containers of the Pod.
fn that_can_go(pod: &Pod, init: &[usize], mut going: Vec<usize>) -> Vec<usize> {
    // If no init container would remain, the first check stays and mounts the volumes. A check also
    // stays if the carrier already uses a mount path that the check's volumes need. A check that
    // stays may become the carrier. So the loop runs until no further check has to stay.
    loop {
        if going.len() == init.len() && !going.is_empty() {
            going.remove(0);
        }
        let before = going.len();
        let staying: Vec<usize> = init
            .iter()
            .copied()
            .filter(|place| !going.contains(place))
            .collect();
        if let Some(carrier) = pod.first_carrier(&staying) {
            let (used, moves) = (paths_of(pod, carrier), going.clone());
            let fits = |place: &usize| {
                mounts_to_move(pod, *place, carrier)
                    .iter()
                    .chain([&pod.places[*place].name])
                    .all(|name| !used.contains(&format!("/.imagecheck/{name}")))
            };
            going = moves.into_iter().filter(fits).collect();
        }
        if going.len() == before {
            // If one check of an image stays, all checks of this image stay. A check that
            // *missing-check* added doesn't count as one that stays.
            let stays = |place: &usize| {
                let mut checks = pod.checks().into_iter();
                checks.any(|check| {
                    pod.places[check].came_in.is_some()
                        && !going.contains(&check)
                        && pod.is_same_image(check, *place)
                })
            };
            going = going
                .iter()
                .copied()
                .filter(|place| !stays(place))
                .collect();
        }
        if going.len() == before && would_be_best_effort(pod, &going) {
            // Without the checks of `going`, the Pod's quality of service would become `BestEffort`.
            // So the first check with a cpu or memory request or limit above zero stays.
            let first = going
                .iter()
                .position(|&place| has_cpu_or_memory(entry(pod, place)));
            first.map(|index| going.remove(index));
        }
        if going.len() == before {
            break;
        }
    }
    going
}

fn entry<'p>(pod: &'p Pod<'_>, place: usize) -> &'p Value {
    let place = &pod.places[place];
    &pod.spec[place.list.key()][place.index]
}

/// Whether an annotation `container.apparmor.security.beta.kubernetes.io/<name>` or a
/// `resourceFieldRef.containerName` names the check. A check that is named there stays an init
/// container. Otherwise the API server or the kubelet would refuse the Pod.
fn is_named_elsewhere(pod: &Pod, name: &str) -> bool {
    fn refers(value: &Value, name: &str) -> bool {
        match value {
            Value::Object(fields) => fields.iter().any(|(key, value)| {
                key == "resourceFieldRef" && value["containerName"] == name || refers(value, name)
            }),
            Value::Array(entries) => entries.iter().any(|value| refers(value, name)),
            _ => false,
        }
    }
    pod.has_apparmor_annotation(name) || refers(&pod.spec, name)
}

/// Whether the Pod has a cpu or memory request or limit above zero now, and would have none without
/// the checks of `going`. The result is false if `spec.resources` has one above zero.
fn would_be_best_effort(pod: &Pod, going: &[usize]) -> bool {
    let containers = [List::InitContainers, List::Containers]
        .into_iter()
        .flat_map(|list| pod.list(list));
    let mut staying = containers.filter(|place| !going.contains(place));
    !has_cpu_or_memory(&pod.spec)
        && !staying.any(|place| has_cpu_or_memory(entry(pod, place)))
        && going
            .iter()
            .any(|&place| has_cpu_or_memory(entry(pod, place)))
}

/// Whether the `resources` of a container or Pod spec have a cpu or memory request or limit above
/// zero.
fn has_cpu_or_memory(of: &Value) -> bool {
    ["requests", "limits"].iter().any(|kind| {
        ["cpu", "memory"].iter().any(|resource| {
            let amount = &of["resources"][*kind][*resource];
            let text = amount
                .as_str()
                .map_or_else(|| amount.to_string(), str::to_owned);
            billionths(&text).is_some_and(|amount| amount > 0)
        })
    })
}

/// Whether a place mounts an image volume that isn't an image check. An exempt volume doesn't count,
/// and neither does a volume whose image can't be parsed or is an image ID.
fn mounts_other_images(pod: &Pod, place: usize) -> bool {
    pod.examined().into_iter().any(|volume| {
        let mounts = &pod.places[place].mounts;
        pod.places[volume].list == List::Volumes
            && mounts.contains(&pod.places[volume].name)
            && pod.reference(volume).is_some()
            && !pod.is_check(volume)
    })
}

/// The paths of the mounts and devices that a container had in the admission request.
fn paths_of(pod: &Pod, place: usize) -> Vec<String> {
    let place = &pod.places[place];
    let mut container = pod.spec[place.list.key()][place.index].clone();
    if let Some(mounts) = container["volumeMounts"].as_array_mut() {
        // The volumes that *missing-check* added have mount paths that no other mount or device uses.
        // So these paths can't be in conflict, and are left out.
        mounts.retain(|mount| {
            let name = mount.get("name").and_then(Value::as_str);
            !pod.places.iter().any(|place| {
                place.list == List::Volumes && place.came_in.is_none() && name == Some(&place.name)
            })
        });
    }
    paths(&container)
}

/// The names of the admission request's check volumes that a place mounts and the carrier doesn't.
fn mounts_to_move(pod: &Pod, place: usize, carrier: usize) -> Vec<String> {
    let is_check = |name: &&String| {
        pod.checks().into_iter().any(|check| {
            let check = &pod.places[check];
            check.list == List::Volumes && check.came_in.is_some() && check.name == **name
        })
    };
    let mounts = pod.places[place].mounts.iter();
    mounts
        .filter(is_check)
        .filter(|name| !pod.places[carrier].mounts.contains(name))
        .cloned()
        .collect()
}

/// The container's mounts of volumes that *missing-check* added.
fn added_mounts(pod: &Pod, container: &Value) -> Vec<Value> {
    let is_added = |mount: &&Value| {
        pod.places.iter().any(|place| {
            place.list == List::Volumes
                && place.came_in.is_none()
                && mount.get("name").and_then(Value::as_str) == Some(&place.name)
        })
    };
    let mounts = container.get("volumeMounts").and_then(Value::as_array);
    mounts
        .into_iter()
        .flatten()
        .filter(is_added)
        .cloned()
        .collect()
}

fn volume_names(pod: &Pod) -> Vec<String> {
    let volumes = pod.spec.get("volumes").and_then(Value::as_array);
    let names = volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

fn take_out(pod: &mut Pod, place: usize) -> Value {
    let index = pod.places[place].index;
    pod.places[place].is_gone = true;
    for other in &mut pod.places {
        if other.list == List::InitContainers && other.index > index {
            other.index -= 1;
        }
    }
    match &mut pod.spec["initContainers"] {
        Value::Array(list) => list.remove(index),
        _ => Value::Null,
    }
}
