//! The check template, as the fields of an added init container.

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use serde_json::Value;

use crate::json::{lenient_list, lenient_string};
use crate::pod::{Pod, Pull};
use crate::sanitize::sanitize;
use crate::settings::Template;

/// The fields of the template, as they fit into the Pod. `last_named` is the last init container
/// that `imageChecks.insertAfter` names: it fills the volumes of the template.
///
/// # Errors
/// Why a check of the template could not run, as a clause.
pub(super) fn from_template(
    Template(template): &Template,
    pod: &Pod<'_>,
    last_named: Option<&Pull<'_>>,
) -> Result<Container, String> {
    let mounts = template.volume_mounts.as_deref().unwrap_or_default();
    let names_any = !pod.settings.image_checks.insert_after.is_empty();
    if last_named.is_none() && names_any && !mounts.is_empty() {
        // Nothing has filled the volume.
        return Err("the Pod has no init container that imageChecks.insertAfter names".to_owned());
    }
    let devices = template.volume_devices.as_deref().unwrap_or_default();
    let mounted = mounts.iter().map(|mount| &*mount.name);
    let mut used = mounted.chain(devices.iter().map(|device| &*device.name));
    let volumes = volumes(pod);
    if let Some(volume) = used.find(|volume| !volumes.contains(volume)) {
        let volume = sanitize(volume);
        return Err(format!(
            "the Pod lacks the volume {volume} of imageChecks.template"
        ));
    }
    let mounts_before = last_named.map_or(&[][..], |pull| lenient_list(pull.value, "volumeMounts"));
    for mount in mounts {
        has_same_sub_path(mount, mounts_before)?;
    }
    let mut container = Container::clone(template);
    if pod.spec.has_resources() {
        container.resources = None;
    }
    Ok(container)
}

/// The names of the Pod's volumes. The controller of a `StatefulSet` makes a volume of each claim
/// template.
fn volumes<'o>(pod: &Pod<'o>) -> Vec<&'o str> {
    let spec = pod.request.object.get("spec");
    let claims = spec.map_or(&[][..], |spec| lenient_list(spec, "volumeClaimTemplates"));
    let of_claims = claims
        .iter()
        .filter_map(|claim| claim.pointer("/metadata/name")?.as_str());
    pod.spec.volume_names().chain(of_claims).collect()
}

/// Checks that a mount of the template sees the same folder of its volume as one of these mounts.
///
/// # Errors
/// These mounts have the volume, and all with another `subPath` or `subPathExpr`.
fn has_same_sub_path(mount: &VolumeMount, mounts: &[Value]) -> Result<(), String> {
    let wanted = [&mount.sub_path, &mount.sub_path_expr];
    let wanted = wanted.map(|path| path.as_deref().unwrap_or_default());
    let of_volume = mounts
        .iter()
        .filter(|other| lenient_string(other, "name") == Some(&mount.name));
    let mut sub_paths = of_volume.map(|other| {
        ["subPath", "subPathExpr"].map(|key| lenient_string(other, key).unwrap_or_default())
    });
    let Some(first) = sub_paths.next() else {
        return Ok(());
    };
    if first == wanted || sub_paths.any(|paths| paths == wanted) {
        return Ok(());
    }
    let (volume, mount) = (sanitize(&mount.name), how_to_mount(first));
    Err(format!(
        "imageChecks.template would not find its program: write its mount of {volume} {mount}"
    ))
}

/// How the template has to write its mount.
fn how_to_mount([sub_path, sub_path_expr]: [&str; 2]) -> String {
    if !sub_path.is_empty() {
        return format!("with subPath {}", sanitize(sub_path));
    }
    if sub_path_expr.is_empty() {
        return "without subPath".to_owned();
    }
    // Without the variables, the kubelet can't start the check.
    let has_variable = sub_path_expr.contains('$');
    let env = if has_variable {
        " and with the env that this needs"
    } else {
        ""
    };
    format!("with subPathExpr {}{env}", sanitize(sub_path_expr))
}
