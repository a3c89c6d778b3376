//! Checks names and images. Also checks the fields and annotations that refer to a container by its
//! name, and the fields that an init container may have only if it is a native sidecar.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    CONTAINERS, EPHEMERAL_CONTAINERS, Faults, INIT_CONTAINERS, containers, elements, is_set, text,
};

/// The prefix of the annotations that set the `AppArmor` profile of a container. The container's
/// name follows the prefix.
const APPARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

const DNS_LABEL_MAX: usize = 63;

pub(super) fn check(pod: &Value, faults: &mut Faults) {
    let spec = &pod["spec"];
    container_names(spec, faults);
    volume_names(spec, faults);
    images(spec, faults);
    restart_policies(spec, faults);
    apparmor_annotations(pod, faults);
    resource_field_references(spec, faults);
}

fn is_dns_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= DNS_LABEL_MAX
        && name.chars().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn container_names(spec: &Value, faults: &mut Faults) {
    if elements(spec, CONTAINERS).is_empty() {
        faults.add(
            "spec.containers",
            "required",
            "validation.go validateContainers",
        );
    }
    let mut names = BTreeSet::new();
    for container in containers(spec, &[CONTAINERS, INIT_CONTAINERS, EPHEMERAL_CONTAINERS]) {
        let name = container.name();
        let path = format!("{}.name", container.path);
        if !is_dns_label(name) {
            faults.add(
                &path,
                format!("{name:?} is no DNS label"),
                "validation.go validateContainerCommon",
            );
        }
        if !names.insert(name) {
            faults.add(
                path,
                format!("{name:?} is a duplicate"),
                "validation.go validateContainers, validateInitContainers, validateEphemeralContainers",
            );
        }
    }
}

fn volume_names(spec: &Value, faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for (index, volume) in elements(spec, "volumes").iter().enumerate() {
        let path = format!("spec.volumes[{index}]");
        let name = text(volume, "name");
        if !is_dns_label(name) {
            faults.add(
                format!("{path}.name"),
                format!("{name:?} is no DNS label"),
                "validation.go ValidateVolumes",
            );
        }
        if !names.insert(name) {
            faults.add(
                format!("{path}.name"),
                format!("{name:?} is a duplicate"),
                "validation.go ValidateVolumes",
            );
        }
        let sources = volume.as_object().map_or(0, |volume| {
            let is_source = |(key, value): &(&String, &Value)| *key != "name" && !value.is_null();
            volume.iter().filter(is_source).count()
        });
        if sources > 1 {
            faults.add(
                &path,
                "may not specify more than 1 volume type",
                "validation.go validateVolumeSource",
            );
        }
        if is_set(volume, "image") && text(&volume["image"], "reference").is_empty() {
            faults.add(
                format!("{path}.image.reference"),
                "required",
                "validation.go validateImageVolumeSource",
            );
        }
    }
}

fn images(spec: &Value, faults: &mut Faults) {
    for container in containers(spec, &[CONTAINERS, INIT_CONTAINERS]) {
        let image = text(container.fields, "image");
        let path = format!("{}.image", container.path);
        if image.is_empty() {
            faults.add(path, "required", "validation.go validateContainerCommon");
        } else if image.trim() != image {
            faults.add(
                path,
                "must not have leading or trailing whitespace",
                "validation.go validateContainersOnlyForPod",
            );
        }
    }
}

fn restart_policies(spec: &Value, faults: &mut Faults) {
    for container in containers(spec, &[INIT_CONTAINERS]) {
        if container.is_native_sidecar() {
            continue;
        }
        for key in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if is_set(container.fields, key) {
                faults.add(
                    format!("{}.{key}", container.path),
                    "may not be set for init containers without restartPolicy=Always",
                    "validation.go validateInitContainers",
                );
            }
        }
    }
}

/// Returns the container names that the keys of `AppArmor` annotations contain.
pub(crate) fn named_by_apparmor(pod: &Value) -> impl Iterator<Item = &str> {
    let annotations = pod.pointer("/metadata/annotations");
    let annotations = annotations.and_then(Value::as_object);
    let keys = annotations.into_iter().flat_map(|all| all.keys());
    keys.filter_map(|key| key.strip_prefix(APPARMOR_PREFIX))
}

fn apparmor_annotations(pod: &Value, faults: &mut Faults) {
    let containers = containers(&pod["spec"], &[CONTAINERS, INIT_CONTAINERS]);
    for name in named_by_apparmor(pod) {
        if !containers.iter().any(|container| container.name() == name) {
            faults.add(
                format!("metadata.annotations[{APPARMOR_PREFIX}{name}]"),
                "container not found",
                "validation.go ValidateAppArmorPodAnnotations",
            );
        }
    }
}

/// Checks that each `resourceFieldRef` with a `containerName` names an init or app container. The API
/// server accepts a wrong name. But the kubelet then can't make the environment variable or the volume,
/// so a container that needs this variable or volume never starts.
fn resource_field_references(spec: &Value, faults: &mut Faults) {
    let all = containers(spec, &[CONTAINERS, INIT_CONTAINERS]);
    let mut names = Vec::new();
    for container in &all {
        for (index, variable) in elements(container.fields, "env").iter().enumerate() {
            let name = variable.pointer("/valueFrom/resourceFieldRef/containerName");
            names.push((format!("{}.env[{index}]", container.path), name));
        }
    }
    for (index, volume) in elements(spec, "volumes").iter().enumerate() {
        let of_projection = elements(&volume["projected"], "sources");
        let sources = of_projection.iter().chain(std::iter::once(volume));
        for item in sources.flat_map(|source| elements(&source["downwardAPI"], "items")) {
            let name = item.pointer("/resourceFieldRef/containerName");
            names.push((format!("spec.volumes[{index}]"), name));
        }
    }
    for (path, name) in names {
        let Some(name) = name.and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            continue;
        };
        if !all.iter().any(|container| container.name() == name) {
            faults.add(
                path,
                format!("resourceFieldRef names {name:?}: container not found"),
                "pkg/api/v1/resource/helpers.go ExtractResourceValueByContainerName",
            );
        }
    }
}
