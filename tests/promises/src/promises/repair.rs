//! Promises about the difference between the Pod that came in and the Pod that `Fix` returned.

use serde_json::{Value, json};

use super::answer::LIST_BYTES;
use super::{Kept, OfRepair, Repaired, hold};
use crate::image::{PullPolicy, on_node};
use crate::json::{CONTAINER_LISTS, all_of, elements, elements_mut, entries_in, has_name, text};
use crate::words::Place;

pub(super) const PROMISES: [OfRepair; 4] = [
    ("the-record-undone-gives-the-pod-that-came-in", undone),
    ("an-earlier-record-stays", earlier_record_stays),
    ("valid-stays-valid", stays_valid),
    ("require-always-and-forbid-always-hold", policies_hold),
];

/// The annotations in which this policy records its changes, and writes what it didn't repair.
const RECORD: &str = "consistent-pull-policy/changes";
const WARNINGS: &str = "consistent-pull-policy/warnings";
/// The API server's limit for the keys and values of an object's annotations, in bytes.
const ANNOTATIONS_BYTES: usize = 256 * 1024;

/// The Pod that was returned, without the changes that the audit annotation lists and without this
/// policy's annotations, equals the Pod that came in. Each change is one that a rule may make.
fn undone(repaired: &Repaired) -> Kept {
    let changes = repaired.observed.list("changes");
    if changes.iter().any(|change| change["more"].is_u64()) {
        return Ok(());
    }
    let mut pod = repaired.after.clone();
    for change in changes.iter().rev() {
        undo(repaired, &mut pod, change).ok_or_else(|| format!("no rule may change {change}"))?;
    }
    let mut before = repaired.before.clone();
    for pod in [&mut before, &mut pod] {
        if let Some(Value::Object(annotations)) = pod.pointer_mut("/metadata/annotations") {
            annotations.retain(|key, _| key != RECORD && key != WARNINGS);
        }
        leave_out_unset(pod);
    }
    hold(pod == before, || format!("{changes:?} gives {pod}"))
}

/// Undoes one change. `None` if it isn't there, or if no rule may make it.
fn undo(repaired: &Repaired, pod: &mut Value, change: &Value) -> Option<()> {
    let path = text(&change["path"]).strip_prefix("spec.")?;
    let (list, rest) = path.split_once('[')?;
    let (index, field) = rest.split_once(']')?;
    let index: usize = index.parse().ok()?;
    let spec = &mut pod["spec"];
    let entry = spec[list].as_array_mut()?.get_mut(index)?;
    if entry["name"] != change["container"] {
        return None;
    }
    let (to, from) = (&change["to"], &change["from"]);
    if field.is_empty() {
        let name = entry["name"].clone();
        spec[list].as_array_mut()?.remove(index);
        if list == "volumes" {
            unmount(spec, text(&name));
        }
        let settings = repaired.settings();
        let prefix = settings.name_prefixes()[0];
        let number = text(&name).strip_prefix(prefix)?;
        let is_list = list
            == if settings.as_volumes() {
                "volumes"
            } else {
                "initContainers"
            };
        let is_new = settings.on_missing() == "Add" && !has_name(spec, list, &name);
        return (is_list && is_new && number.parse::<usize>().is_ok()).then_some(());
    }
    let (holder, key) = match (list, field) {
        ("volumes", ".image.reference") => (&mut entry["image"], "reference"),
        ("volumes", ".image.pullPolicy") => (&mut entry["image"], "pullPolicy"),
        (_, ".image") => (entry, "image"),
        (_, ".imagePullPolicy") => (entry, "imagePullPolicy"),
        _ => return None,
    };
    if holder[key] != *to {
        return None;
    }
    if key == "image" || key == "reference" {
        let digest = repaired.case.answers.digest(text(from)).ok()?;
        if *to != format!("{}@{digest}", on_node(text(from))) {
            return None;
        }
    }
    holder[key] = from.clone();
    Some(())
}

/// Removes the mounts of an added volume that are as they have to be.
fn unmount(spec: &mut Value, volume: &str) {
    let path = format!("/.imagecheck/{volume}");
    let mount = json!({"name": volume, "mountPath": path, "readOnly": true});
    for list in ["initContainers", "containers"] {
        for container in elements_mut(spec, list) {
            if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts") {
                mounts.retain(|one| *one != mount);
            }
        }
    }
}

/// Leaves out the fields that a repair may write first, where they are not set.
fn leave_out_unset(value: &mut Value) {
    const FIELDS: [&str; 7] = [
        "imagePullPolicy",
        "pullPolicy",
        "volumeMounts",
        "initContainers",
        "volumes",
        "annotations",
        "metadata",
    ];
    let is_unset = |value: &Value| {
        let unset = [json!(null), json!(""), json!([]), json!({})];
        unset.contains(value)
    };
    match value {
        Value::Array(list) => list.iter_mut().for_each(leave_out_unset),
        Value::Object(members) => {
            members.values_mut().for_each(leave_out_unset);
            members.retain(|key, value| !(FIELDS.contains(&&**key) && is_unset(value)));
        }
        _ => {}
    }
}

/// The record lists the changes, and then what was in it before, unless it is too long.
fn earlier_record_stays(repaired: &Repaired) -> Kept {
    let record = |pod: &Value| entries_in(&pod["metadata"]["annotations"][RECORD]);
    let changes = repaired.observed.list("changes");
    let earlier = record(repaired.before).unwrap_or_default();
    let is_record = earlier.iter().all(Value::is_object);
    let expected = [
        changes.clone(),
        if is_record { earlier } else { Vec::new() },
    ]
    .concat();
    let annotations = repaired.after["metadata"]["annotations"].as_object();
    let sizes = annotations.into_iter().flatten();
    let size: usize = sizes.map(|(key, list)| key.len() + text(list).len()).sum();
    let is_short = Value::from(expected.clone()).to_string().len() < LIST_BYTES;
    let is_whole = is_short && size < ANNOTATIONS_BYTES - LIST_BYTES;
    let is_counted = expected.iter().any(|entry| entry["more"].is_u64());
    let is_right =
        changes.is_empty() || is_counted || !is_whole || record(repaired.after) == Some(expected);
    let is_small = size <= ANNOTATIONS_BYTES || repaired.before == repaired.after;
    hold(is_right && is_small, || {
        repaired.after["metadata"].to_string()
    })
}

/// What an API server refuses, of all that an added check can do wrong in a random Pod
/// (`ValidatePodSpec` in `pkg/apis/core/validation/validation.go` of `kubernetes/kubernetes`): names
/// and mount paths are unique, and a mounted volume exists. The cluster tests ask a real API server
/// for all other rules.
fn stays_valid(repaired: &Repaired) -> Kept {
    let faults = faults(repaired.after);
    hold(
        faults.is_empty() || !self::faults(repaired.before).is_empty(),
        || faults.join(", "),
    )
}

/// The names and paths in a Pod that are empty, twice there or unknown.
pub(super) fn faults(pod: &Value) -> Vec<&str> {
    let spec = &pod["spec"];
    let volumes: Vec<&str> = elements(spec, "volumes")
        .iter()
        .map(|one| text(&one["name"]))
        .collect();
    let containers = all_of(spec, &CONTAINER_LISTS);
    let names = containers.clone().map(|one| text(&one["name"])).collect();
    let mut faults = repeated(volumes.clone());
    faults.extend(repeated(names));
    for container in containers {
        let mounts = elements(container, "volumeMounts").iter();
        let devices = elements(container, "volumeDevices").iter();
        let paths = mounts.clone().map(|mount| text(&mount["mountPath"]));
        faults.extend(repeated(
            paths
                .chain(devices.map(|device| text(&device["devicePath"])))
                .collect(),
        ));
        let mounted = mounts.map(|mount| text(&mount["name"]));
        faults.extend(mounted.filter(|name| !volumes.contains(name)));
    }
    faults
}

/// The texts that are in a list twice, or that are empty.
fn repeated(mut texts: Vec<&str>) -> Vec<&str> {
    texts.sort_unstable();
    let mut wrong: Vec<&str> = texts
        .iter()
        .copied()
        .filter(|text| text.is_empty())
        .collect();
    wrong.extend(
        texts
            .windows(2)
            .filter(|two| two[0] == two[1])
            .map(|two| two[0]),
    );
    wrong
}

/// `requireAlways` takes precedence. No place with an invalid image is accepted.
fn policies_hold(repaired: &Repaired) -> Kept {
    let settings = repaired.settings();
    let is_right = |place: &&Place| {
        let is_always = place.pull_policy == PullPolicy::Always;
        let is_valid = !repaired.new.is_invalid(place);
        is_valid
            && if settings.matches("images.requireAlways", place.image) {
                is_always
            } else {
                !is_always || !settings.matches("images.forbidAlways", place.image)
            }
    };
    let places = repaired.new.places.iter().filter(|place| !place.is_exempt);
    let wrong: Vec<&Place> = places.filter(|place| !is_right(place)).collect();
    hold(wrong.is_empty(), || format!("{wrong:?}"))
}
