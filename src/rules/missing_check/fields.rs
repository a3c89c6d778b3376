//! The fields of an added init container: those of the Pod's last image check that can be copied, or else those of the check
//! template.

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use serde_json::{Map, Value};

use super::why_not::WhyNot;
use crate::examination::{Examination, Place, Role};
use crate::json::{self, elements, text};
use crate::pod::List;
use crate::settings::Template;

/// The fields that are copied. Ports, probes, resource claims and devices are not.
const COPIED: [&str; 10] = [
    "command",
    "args",
    "workingDir",
    "env",
    "envFrom",
    "resources",
    "volumeMounts",
    "securityContext",
    "terminationMessagePath",
    "terminationMessagePolicy",
];

/// The fields of the added init containers, without names, images and pull policies, and the index of the first of them.
///
/// # Errors
/// Why none is added.
pub(super) fn fields(examination: &Examination<'_>) -> Result<(Container, usize), WhyNot> {
    let index_after = |place: &Place<'_>| place.index().saturating_add(1);
    let after_checks = checks(examination).map(index_after).next_back();
    let last_named = last_named(examination);
    let after_named = last_named.map(index_after);
    let mut why_not = WhyNot::NothingToCopy;
    for check in checks(examination).rev() {
        match copy(examination, check) {
            Ok(Some(container)) => return Ok((container, after_checks.unwrap_or_default())),
            Ok(None) => {}
            Err(field) => {
                why_not = WhyNot::UnknownField {
                    check: check.name.to_string(),
                    field,
                }
            }
        }
    }
    let template = examination
        .settings
        .image_checks
        .template
        .as_ref()
        .ok_or(why_not)?;
    fits(template, examination, last_named)?;
    let mut container = Container::clone(&template.0);
    if examination.spec.has_resources() {
        container.resources = None;
    }
    // A check of the template runs a program of a volume, so it stands behind the init container that fills the volume.
    Ok((container, after_checks.max(after_named).unwrap_or_default()))
}

/// The image checks that are init containers.
fn checks<'e, 'o>(
    examination: &'e Examination<'o>,
) -> impl DoubleEndedIterator<Item = &'e Place<'o>> {
    let places = examination.places.iter();
    places.filter(|place| place.role == Role::Check && place.list == List::InitContainers)
}

/// The last init container that `imageChecks.after` names.
fn last_named<'e, 'o>(examination: &'e Examination<'o>) -> Option<&'e Place<'o>> {
    let patterns = &examination.settings.image_checks.after;
    let mut init_containers = examination
        .places
        .iter()
        .filter(|place| place.list == List::InitContainers);
    init_containers.rfind(|place| patterns.iter().any(|pattern| pattern.matches(&place.name)))
}

/// A copy of a check. None if its program comes from its own image, or if an annotation gives it an `AppArmor` profile: the
/// key of such an annotation names one container, so a copy would have no profile.
///
/// # Errors
/// The path of a field that Kubernetes' type doesn't know, or that has another type.
fn copy(examination: &Examination<'_>, check: &Place<'_>) -> Result<Option<Container>, String> {
    let has_profile = examination.metadata.has_app_armor_profile(&check.name);
    let is_copyable = |entry: &&Value| runs_program_of_mount(entry) && !has_profile;
    let Some(entry) = check.entry().filter(is_copyable) else {
        return Ok(None);
    };
    let uses_environment = uses_environment(entry);
    // The requests of a check could exceed those of the whole Pod, and the API server would refuse the Pod.
    let has_resources = !examination.spec.has_resources();
    let mut fields = Map::new();
    for key in COPIED {
        let is_copied = match key {
            "env" | "envFrom" => uses_environment,
            "resources" => has_resources,
            _ => true,
        };
        if let Some(value) = entry.get(key).filter(|_| is_copied) {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(Value::Object(resources)) = fields.get_mut("resources") {
        resources.retain(|key, _| key == "requests" || key == "limits");
    }
    json::container(&Value::Object(fields))
        .map(Some)
        .map_err(|wrong| wrong.path)
}

/// Whether a variable of the environment may be in the command, in the arguments or in the `subPathExpr` of a mount.
fn uses_environment(check: &Value) -> bool {
    let sub_paths = elements(check, "volumeMounts")
        .iter()
        .filter_map(|mount| mount.get("subPathExpr"));
    let mut texts = sub_paths
        .chain(elements(check, "command"))
        .chain(elements(check, "args"));
    texts.any(|text| text.as_str().is_some_and(|text| text.contains('$')))
}

/// Whether the check's program comes from a mount of the check: the first word of `command` is an absolute path at or below a
/// mount path. Any other program comes from the check's own image, and the image of an added check may not have it.
fn runs_program_of_mount(check: &Value) -> bool {
    let Some(program) = elements(check, "command").first().and_then(Value::as_str) else {
        return false;
    };
    if !program.starts_with('/') || program.contains("..") || program.contains('$') {
        return false;
    }
    let program = path_parts(program);
    elements(check, "volumeMounts").iter().any(|mount| {
        let folder = path_parts(text(mount, "mountPath").unwrap_or_default());
        !folder.is_empty() && program.starts_with(&folder)
    })
}

/// The parts of a path, without empty parts and `.`.
fn path_parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect()
}

/// Checks that the template's volumes are in the Pod, and that `last_named` has filled them.
///
/// # Errors
/// Why a check of the template could not run.
fn fits(
    template: &Template,
    examination: &Examination<'_>,
    last_named: Option<&Place<'_>>,
) -> Result<(), WhyNot> {
    let mounts = template.0.volume_mounts.as_deref().unwrap_or_default();
    let devices = template.0.volume_devices.as_deref().unwrap_or_default();
    if last_named.is_none()
        && !mounts.is_empty()
        && !examination.settings.image_checks.after.is_empty()
    {
        return Err(WhyNot::NoneBefore);
    }
    // The controller of a StatefulSet makes a volume of each claim template.
    let spec = examination.request.object.get("spec");
    let claims = spec
        .map_or(&[][..], |spec| elements(spec, "volumeClaimTemplates"))
        .iter();
    let of_claims = claims.filter_map(|claim| claim.pointer("/metadata/name")?.as_str());
    let names: Vec<&str> = examination.spec.volume_names().chain(of_claims).collect();
    let mounted = mounts.iter().map(|mount| &*mount.name);
    let mut used = mounted.chain(devices.iter().map(|device| &*device.name));
    let mounts_before = last_named
        .and_then(Place::entry)
        .map_or(&[][..], |entry| elements(entry, "volumeMounts"));
    if let Some(volume) = used.find(|volume| !names.contains(volume)) {
        let filled = mounts_before
            .iter()
            .filter_map(|mount| text(mount, "name"))
            .map(str::to_owned)
            .collect();
        return Err(WhyNot::NoVolume {
            volume: volume.to_owned(),
            filled,
        });
    }
    mounts
        .iter()
        .try_for_each(|mount| has_same_sub_path(mount, mounts_before))
}

/// Checks that a mount of the template sees the same folder of its volume as these mounts.
///
/// # Errors
/// These mounts have the volume, and all with another `subPath` or `subPathExpr`.
fn has_same_sub_path(mount: &VolumeMount, mounts: &[Value]) -> Result<(), WhyNot> {
    let wanted =
        [&mount.sub_path, &mount.sub_path_expr].map(|path| path.as_deref().unwrap_or_default());
    let of_volume = mounts
        .iter()
        .filter(|other| text(other, "name") == Some(&mount.name));
    let paths: Vec<[&str; 2]> = of_volume
        .map(|other| ["subPath", "subPathExpr"].map(|key| text(other, key).unwrap_or_default()))
        .collect();
    match paths.first() {
        Some(&[path, expression]) if !paths.contains(&wanted) => Err(WhyNot::OtherSubPath {
            volume: mount.name.clone(),
            sub_path: path.to_owned(),
            sub_path_expr: expression.to_owned(),
        }),
        _ => Ok(()),
    }
}
