//! **missing-check**: "what happens when an image of a Pod that has image checks is not covered".

use serde_json::{Value, json};

use crate::pod::{List, Pod};
use crate::policy::PullPolicy;
use crate::rules::weak_check::as_it_would_stay;
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    if !is_asked_for(pod) {
        return;
    }
    let missing = missing(pod);
    // **Decided**: without init containers, every app container has to mount every check volume. If
    // that makes more than 10,000 mounts, nothing is added and `coverage: Fix` rejects. No API server
    // would take the object.
    let containers = pod.list(List::Containers).len();
    let is_too_much = pod.settings.coverage() == "Fix"
        && pod.can_get_checks()
        && pod.list(List::InitContainers).is_empty()
        && (pod.settings.as_image_volume()
            || pod.has_checks()
            || pod.settings.template().is_none())
        && missing.len() * containers > 10_000;
    for (container, need) in missing {
        // **Decided**: `coverage: Reject` rejects a Windows Pod too.
        let (repair, weight) = match pod.settings.coverage() {
            "Reject" => (Repair::None, Weight::Rejects),
            _ if is_too_much => (Repair::None, Weight::Rejects),
            "Fix" if pod.can_get_checks() => (Repair::Addition, Weight::Rejects),
            // "`coverage: Fix` acts on a template as `Warn` in every mode"; "Windows Pods get nothing
            // added or replaced, and a warning, in every mode"
            _ => (Repair::None, Weight::Warns),
        };
        let path = pod.image_path(container);
        let expected = Value::from(need.name());
        pod.find(
            "missing-check",
            container,
            path,
            Value::Null,
            expected,
            repair,
            weight,
        );
        if repair == Repair::Addition {
            add(pod, container, need);
        }
    }
}

fn is_asked_for(pod: &Pod) -> bool {
    pod.settings.coverage() != "Off" && (pod.has_checks() || pod.settings.every_pod())
}

/// The images, as they are written, that are not covered: the first container that needs most, and
/// the strength that it needs.
fn missing(pod: &Pod) -> Vec<(usize, PullPolicy)> {
    let mut found: Vec<(usize, PullPolicy)> = Vec::new();
    for container in pod.guarded() {
        let of_its_image = |other: &usize| {
            pod.is_same_image(*other, container) && pod.is_written_alike(*other, container)
        };
        let is_known = found.iter().any(|(known, _)| of_its_image(known));
        // The copy can't know what a lookup has shown to be covered.
        let need = need(pod, container);
        if !is_known && !is_covered(pod, container) && !pod.may_be_covered(container, need) {
            let neediest = pod
                .guarded()
                .into_iter()
                .filter(of_its_image)
                .find(|&other| pod.places[other].policy == need);
            found.push((neediest.unwrap_or(container), need));
        }
    }
    // **Decided**: several checks come in the order of their images, init containers first.
    found.sort_by_key(|&(container, _)| {
        let same = pod.examined().into_iter().filter(|&other| {
            pod.is_same_image(other, container) && pod.is_written_alike(other, container)
        });
        same.map(|other| {
            let place = &pod.places[other];
            (place.list != List::InitContainers, place.list, place.index)
        })
        .min()
    });
    found
}

/// Whether `coverage: Fix` is going to give the container a check of its spelling.
pub(crate) fn will_be_added(pod: &Pod, container: usize) -> bool {
    is_asked_for(pod)
        && pod.settings.coverage() == "Fix"
        && pod.can_get_checks()
        && !is_covered(pod, container)
}

/// "the strength that its containers need"
pub(crate) fn need(pod: &Pod, container: usize) -> PullPolicy {
    pod.guarded()
        .into_iter()
        .filter(|&other| {
            pod.is_same_image(other, container) && pod.is_written_alike(other, container)
        })
        .map(|other| pod.places[other].policy)
        .max()
        .unwrap_or(pod.places[container].policy)
}

/// "an image that an image check pulls, or that any other init container before the app (no sidecar)
/// pulls with at least the strength that its containers need, under the same written repository"
pub(crate) fn is_covered(pod: &Pod, container: usize) -> bool {
    let need = need(pod, container);
    pod.examined().into_iter().any(|other| {
        pod.serves(other, container)
            && (pod.is_check(other) || pod.is_plain_init(other) && pod.places[other].policy >= need)
    })
}

/// "add `imagecheck-N` (first name prefix, first free N) with the image and the strength that its
/// containers need"
fn add(pod: &mut Pod, container: usize, need: PullPolicy) {
    let image = pod.places[container].image.clone();
    let policy = as_it_would_stay(pod, &image, need);
    let last_check = pod
        .list(List::InitContainers)
        .into_iter()
        .rfind(|&place| pod.is_check(place));
    // **Decided\***: if the app containers carry the check volumes, an added check is a volume too,
    // whatever `imageChecks.as` says. Behind an init container, the others would be checks no more.
    let is_carried_by_app = pod.list(List::InitContainers).is_empty() && pod.has_checks();
    let as_volume = pod.settings.as_image_volume() || is_carried_by_app;
    let template = pod.settings.template();
    let is_volume = as_volume || last_check.is_none() && template.is_none();
    let name = free_name(pod, is_volume);
    match (as_volume, last_check, template) {
        // "a copy of the Pod's last image check with only these three changed, straight after it"
        (false, Some(last), _) => {
            let index = pod.places[last].index;
            let copy = pod.spec["initContainers"][index].clone();
            add_container(pod, index + 1, copy, &name, &image, policy);
        }
        // "in a Pod without one, `imageChecks.template`, after the last init container that
        // `imageChecks.after` names, else first"
        (false, None, Some(template)) => {
            let after = pod
                .list(List::InitContainers)
                .into_iter()
                .filter(|&place| pod.settings.is_before_checks(&pod.places[place].name))
                .map(|place| pod.places[place].index + 1)
                .next_back();
            add_container(
                pod,
                after.unwrap_or(0),
                template.clone(),
                &name,
                &image,
                policy,
            );
        }
        // "or an image volume"; "A Pod that has volume checks only, under `as: InitContainer` without
        // a template, gets a volume."
        _ => {
            pod.push_volume("missing-check", &name, &image, policy);
            for carrier in pod.carriers() {
                pod.mount(carrier, mount_of(&name));
            }
        }
    }
}

fn add_container(
    pod: &mut Pod,
    index: usize,
    like: Value,
    name: &str,
    image: &str,
    policy: PullPolicy,
) {
    let mut container = like;
    container["name"] = name.into();
    container["image"] = image.into();
    container["imagePullPolicy"] = policy.name().into();
    pod.insert_init("missing-check", index, container);
}

/// "Mount path `/.imagecheck/<volume name>`", "mounted read-only"
///
/// **Decided**: an added volume is the last of `volumes`, and an added mount is the last of
/// `volumeMounts`.
pub(crate) fn mount_of(volume: &str) -> Value {
    json!({"name": volume, "mountPath": format!("/.imagecheck/{volume}"), "readOnly": true})
}

/// "the number is free among containers and volumes", "Names and mount paths never collide"
fn free_name(pod: &Pod, as_volume: bool) -> String {
    let prefix = pod.settings.name_prefixes()[0];
    let (names, paths) = (pod.names(as_volume), pod.mount_paths());
    (0..=names.len() + paths.len())
        .map(|number| format!("{prefix}{number}"))
        .find(|name| {
            !(names.contains(name) || as_volume && paths.contains(&format!("/.imagecheck/{name}")))
        })
        .unwrap_or_default()
}
