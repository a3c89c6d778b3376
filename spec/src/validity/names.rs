//! Checks names and images, and the fields that an init container may have only if it is a native
//! sidecar.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Faults, containers};
use crate::json::{CONTAINER_LISTS, elements, text};

const DNS_LABEL_MAX: usize = 63;

pub(super) fn check(spec: &Value, faults: &mut Faults) {
    names(spec, &CONTAINER_LISTS, faults);
    names(spec, &["volumes"], faults);
    for container in containers(spec) {
        if text(&container.fields["image"]).is_empty() {
            faults.add(
                format!("{}.image", container.path),
                "is required (validation.go validateContainerCommon)",
            );
        }
        if container.list == "initContainers" && !container.is_native_sidecar() {
            fields_of_sidecars(container.fields, &container.path, faults);
        }
    }
}

/// Checks the names in lists that share their names.
fn names(spec: &Value, lists: &[&str], faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for list in lists {
        for (index, entry) in elements(spec, list).iter().enumerate() {
            let path = format!("spec.{list}[{index}].name");
            let name = text(&entry["name"]);
            if !is_dns_label(name) {
                faults.add(
                    &path,
                    "is no DNS label (validation.go validateContainerCommon, ValidateVolumes)",
                );
            }
            if !names.insert(name) {
                faults.add(
                    path,
                    "is a duplicate (validation.go validateContainers, ValidateVolumes)",
                );
            }
        }
    }
}

fn is_dns_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= DNS_LABEL_MAX
        && name.chars().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn fields_of_sidecars(container: &Value, path: &str, faults: &mut Faults) {
    for key in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if !container[key].is_null() {
            faults.add(
                format!("{path}.{key}"),
                "needs restartPolicy=Always (validation.go validateInitContainers)",
            );
        }
    }
}
