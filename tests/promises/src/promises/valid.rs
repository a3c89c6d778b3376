//! What an API server refuses, of all that an added check can do wrong in a random Pod. Only the
//! rules that depend on the other entries of the Pod are here (`ValidatePodSpec` in
//! `pkg/apis/core/validation/validation.go` of `kubernetes/kubernetes`): names and mount paths are
//! unique, and a mounted volume exists. The cluster tests ask a real API server for all other
//! rules.

use serde_json::Value;

use super::{Kept, Repaired, hold};
use crate::json::{CONTAINER_LISTS, all_of, elements, text};

/// If no name and no mount path of the request's Pod is used twice, and each mounted volume exists,
/// this also holds for the Pod that `Fix` returned.
pub(super) fn stays_valid(repaired: &Repaired) -> Kept {
    is_no_less_valid(repaired.before, repaired.after)
}

/// A Pod without faults has none after a change.
pub(super) fn is_no_less_valid(before: &Value, after: &Value) -> Kept {
    let faults = faults(&after["spec"]);
    let is_kept = faults.is_empty() || !self::faults(&before["spec"]).is_empty();
    hold(is_kept, || faults.join("; "))
}

fn faults(spec: &Value) -> Vec<String> {
    let names = |key: &'static str| elements(spec, key).iter().map(|one| text(&one["name"]));
    let volumes: Vec<&str> = names("volumes").collect();
    let containers: Vec<&str> = CONTAINER_LISTS.into_iter().flat_map(names).collect();
    let mut faults = repeated(&volumes);
    faults.extend(repeated(&containers));
    for container in all_of(spec, &CONTAINER_LISTS) {
        let mounts = elements(container, "volumeMounts").iter();
        let devices = elements(container, "volumeDevices").iter();
        let paths = mounts.clone().map(|mount| text(&mount["mountPath"]));
        let paths = paths.chain(devices.map(|device| text(&device["devicePath"])));
        faults.extend(repeated(&paths.collect::<Vec<_>>()));
        let mounted = mounts.map(|mount| text(&mount["name"]));
        let missing = mounted.filter(|name| !volumes.contains(name));
        faults.extend(missing.map(|name| format!("no volume {name}")));
    }
    faults
}

/// Returns the texts that are in a list twice, or that are empty.
fn repeated(texts: &[&str]) -> Vec<String> {
    let is_wrong =
        |index: &usize| texts[*index].is_empty() || texts[..*index].contains(&texts[*index]);
    let wrong = (0..texts.len()).filter(is_wrong);
    wrong
        .map(|index| format!("{:?} is empty or not unique", texts[index]))
        .collect()
}
