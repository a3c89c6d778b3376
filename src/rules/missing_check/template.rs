//! The check template, as the fields of an added init container.

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use serde_json::Value;

use super::why_not::WhyNot;
use crate::examination::{Examination, Place};
use crate::json::{lenient_list, lenient_string};
use crate::settings::Template;

/// The fields of the template, as they fit into the Pod. `last_named` is the last init container
/// that `imageChecks.insertAfter` names: it fills the volumes of the template.
///
/// # Errors
/// Why a check of the template could not run.
pub(super) fn from_template(
    Template(template): &Template,
    examination: &Examination<'_>,
    last_named: Option<&Place<'_>>,
) -> Result<Container, WhyNot> {
    let mounts = template.volume_mounts.as_deref().unwrap_or_default();
    let names_any = !examination.settings.image_checks.insert_after.is_empty();
    if last_named.is_none() && names_any && !mounts.is_empty() {
        return Err(WhyNot::NoneBefore);
    }
    let entry = last_named.map(|place| place.entry.value);
    let mounts_before = entry.map_or(&[][..], |entry| lenient_list(entry, "volumeMounts"));
    let devices = template.volume_devices.as_deref().unwrap_or_default();
    let mounted = mounts.iter().map(|mount| &*mount.name);
    let mut used = mounted.chain(devices.iter().map(|device| &*device.name));
    let volumes = volumes(examination);
    if let Some(volume) = used.find(|volume| !volumes.contains(volume)) {
        let volume = volume.to_owned();
        return Err(WhyNot::NoVolume { volume });
    }
    for mount in mounts {
        has_same_sub_path(mount, mounts_before)?;
    }
    let mut container = Container::clone(template);
    if examination.spec.has_resources() {
        container.resources = None;
    }
    Ok(container)
}

/// The names of the Pod's volumes. The controller of a `StatefulSet` makes a volume of each claim
/// template.
fn volumes<'o>(examination: &Examination<'o>) -> Vec<&'o str> {
    let spec = examination.request.object.get("spec");
    let claims = spec.map_or(&[][..], |spec| lenient_list(spec, "volumeClaimTemplates"));
    let of_claims = claims
        .iter()
        .filter_map(|claim| claim.pointer("/metadata/name")?.as_str());
    examination.spec.volume_names().chain(of_claims).collect()
}

/// Checks that a mount of the template sees the same folder of its volume as one of these mounts.
///
/// # Errors
/// These mounts have the volume, and all with another `subPath` or `subPathExpr`.
fn has_same_sub_path(mount: &VolumeMount, mounts: &[Value]) -> Result<(), WhyNot> {
    let wanted = [&mount.sub_path, &mount.sub_path_expr];
    let wanted = wanted.map(|path| path.as_deref().unwrap_or_default());
    let mut first = None;
    for other in mounts {
        if lenient_string(other, "name") == Some(&mount.name) {
            let paths = ["subPath", "subPathExpr"];
            let paths = paths.map(|key| lenient_string(other, key).unwrap_or_default());
            if paths == wanted {
                return Ok(());
            }
            first.get_or_insert(paths);
        }
    }
    let Some([sub_path, sub_path_expr]) = first else {
        return Ok(());
    };
    Err(WhyNot::OtherSubPath {
        volume: mount.name.clone(),
        sub_path: sub_path.to_owned(),
        sub_path_expr: sub_path_expr.to_owned(),
    })
}
