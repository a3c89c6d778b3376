//! Finds faults in the volume mounts and volume devices of containers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    CONTAINERS, EPHEMERAL_CONTAINERS, Faults, INIT_CONTAINERS, containers, elements, text,
};

pub(super) fn check(pod: &Value, faults: &mut Faults) {
    let spec = &pod["spec"];
    // If two volumes have the same name, the first one counts.
    let mut volumes: BTreeMap<&str, &Value> = BTreeMap::new();
    for volume in elements(spec, "volumes") {
        volumes.entry(text(volume, "name")).or_insert(volume);
    }
    for container in containers(spec, &[CONTAINERS, INIT_CONTAINERS, EPHEMERAL_CONTAINERS]) {
        let devices = elements(container.fields, "volumeDevices");
        let device_paths: BTreeSet<&str> = devices.iter().map(|d| text(d, "devicePath")).collect();
        let device_names: BTreeSet<&str> = devices.iter().map(|d| text(d, "name")).collect();
        let mut paths = BTreeSet::new();
        for (index, mount) in elements(container.fields, "volumeMounts")
            .iter()
            .enumerate()
        {
            let (name, mount_path) = (text(mount, "name"), text(mount, "mountPath"));
            let mut fault = |key: &str, problem: String| {
                let path = format!("{}.volumeMounts[{index}].{key}", container.path);
                faults.add(path, problem, "validation.go ValidateVolumeMounts");
            };
            if !volumes.contains_key(name) {
                fault("name", format!("{name:?} is no volume"));
            }
            if device_names.contains(name) {
                fault(
                    "name",
                    format!("{name:?} must not already exist in volumeDevices"),
                );
            }
            if mount_path.is_empty() {
                fault("mountPath", "required".to_owned());
            }
            if !paths.insert(mount_path) {
                fault("mountPath", format!("{mount_path:?} must be unique"));
            }
            if device_paths.contains(mount_path) {
                let problem =
                    format!("{mount_path:?} must not already exist as a path in volumeDevices");
                fault("mountPath", problem);
            }
        }
        let mut paths = BTreeSet::new();
        for (index, device) in devices.iter().enumerate() {
            let path = format!("{}.volumeDevices[{index}]", container.path);
            let source = "validation.go ValidateVolumeDevices";
            let is_claim = volumes.get(text(device, "name")).is_some_and(|volume| {
                volume["persistentVolumeClaim"].is_object() || volume["ephemeral"].is_object()
            });
            if !is_claim {
                faults.add(
                    format!("{path}.name"),
                    "must be a volume of a claim",
                    source,
                );
            }
            if !paths.insert(text(device, "devicePath")) {
                faults.add(format!("{path}.devicePath"), "must be unique", source);
            }
        }
    }
}
