//! Finds faults in the volume mounts and volume devices of containers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Container, Faults, containers};
use crate::json::{elements, named, text};

pub(super) fn check(spec: &Value, faults: &mut Faults) {
    let volumes = elements(spec, "volumes");
    for container in containers(spec) {
        mounts(&container, volumes, faults);
        devices(&container, volumes, faults);
    }
}

fn mounts(container: &Container, volumes: &[Value], faults: &mut Faults) {
    let devices = elements(container.fields, "volumeDevices");
    let mut paths: BTreeSet<&str> = devices.iter().map(|one| text(&one["devicePath"])).collect();
    for (index, mount) in elements(container.fields, "volumeMounts")
        .iter()
        .enumerate()
    {
        let path = format!("{}.volumeMounts[{index}]", container.path);
        if named(volumes, &mount["name"]).is_none() {
            faults.add(
                format!("{path}.name"),
                "is no volume (validation.go ValidateVolumeMounts)",
            );
        }
        if text(&mount["mountPath"]).is_empty() || !paths.insert(text(&mount["mountPath"])) {
            faults.add(
                format!("{path}.mountPath"),
                "must be there, and unique among mounts and devices (validation.go ValidateVolumeMounts)",
            );
        }
    }
}

fn devices(container: &Container, volumes: &[Value], faults: &mut Faults) {
    for (index, device) in elements(container.fields, "volumeDevices")
        .iter()
        .enumerate()
    {
        let volume = named(volumes, &device["name"]).unwrap_or(&Value::Null);
        if !volume["persistentVolumeClaim"].is_object() && !volume["ephemeral"].is_object() {
            faults.add(
                format!("{}.volumeDevices[{index}].name", container.path),
                "must be a volume of a claim (validation.go ValidateVolumeDevices)",
            );
        }
    }
}
