//! The fields of added init containers: a copy of an image check of the Pod, or else the check template. And
//! their position in the Pod.

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use serde_json::{Map, Value};

use crate::json::{lenient_list, lenient_string};
use crate::pod::{List, Moment, Pod, Pull};
use crate::sanitize::sanitize;

/// The first added init container, without a name and an image. The error is the sentence that says
/// why none is added.
pub fn init_container<'o>(pod: &Pod<'o>) -> Result<Pull<'o>, String> {
    let because = |why| format!("none is added, because {why}");
    let (container, index) = container(pod).map_err(because)?;
    // serde can write each container.
    let mut fields = match serde_json::to_value(container) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.remove("name");
    Ok(Pull {
        list: List::InitContainers,
        index,
        added: Some(fields.into()),
        moment: Some(Moment(index)),
        ..Pull::default()
    })
}

/// A container with the fields of the added ones, and the index of the first of them: a copy of the
/// last check that can be copied, or else the check template. The error says why none is added, as a
/// clause.
fn container(pod: &Pod) -> Result<(Container, usize), String> {
    let inits = || {
        let pulls = pod.pulls.iter();
        pulls.filter(|pull| pull.list == List::InitContainers)
    };
    let after = |pull: Option<&Pull>| pull.map_or(0, |pull| pull.index.saturating_add(1));
    let after_checks = after(inits().rfind(|pull| pull.is_check));
    let mut why =
        "no check of this Pod can be copied and imageChecks.template is not set".to_owned();
    for check in inits().rev().filter(|pull| pull.is_check) {
        match copy(pod, check) {
            Ok(Some(container)) => return Ok((container, after_checks)),
            Ok(None) => {}
            Err(field) => {
                let (check, field) = (sanitize(&check.name), sanitize(&field));
                why = format!("{check} has a field that this policy doesn't know, {field}");
            }
        }
    }
    let settings = &pod.settings.image_checks;
    let template = settings.template.as_ref().ok_or(why)?;
    let is_named = |pull: &&Pull| {
        let mut patterns = settings.insert_after.iter();
        patterns.any(|pattern| pattern.matches(&pull.name))
    };
    let last_named = inits().rfind(is_named);
    let container = from_template(template, pod, last_named)?;
    // A check of the template runs a program of a volume, so it comes after the init container that
    // fills the volume.
    Ok((container, after_checks.max(after(last_named))))
}

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

/// The prefix of an annotation that gives a container an `AppArmor` profile. The container's name
/// follows it. Source: `DeprecatedAppArmorBetaContainerAnnotationKeyPrefix` in
/// `staging/src/k8s.io/api/core/v1/annotation_key_constants.go`.
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// A copy of a check, without name, image and pull policy. None if the check's program comes from
/// its own image, or if an annotation gives it an `AppArmor` profile: the key of such an annotation
/// names one container, so a copy would have no profile. The error is the path of a field that
/// Kubernetes' type doesn't know, or that has another type.
fn copy(pod: &Pod, check: &Pull) -> Result<Option<Container>, String> {
    let entry = check.value;
    let profile = [APP_ARMOR_ANNOTATION, &check.name].concat();
    if pod.metadata.annotation(&profile).is_some() || !runs_program_of_mount(entry) {
        return Ok(None);
    }
    let mut fields = Map::new();
    for key in COPIED {
        let is_copied = match key {
            "env" | "envFrom" => uses_environment(entry),
            // The requests of a check could exceed those of the whole Pod, and the API server would
            // refuse the Pod.
            "resources" => !pod.spec.has_resources(),
            _ => true,
        };
        if is_copied && let Some(value) = entry.get(key) {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(Value::Object(resources)) = fields.get_mut("resources") {
        resources.retain(|key, _| key == "requests" || key == "limits");
    }
    let container = container::read(&Value::Object(fields));
    container.map(Some).map_err(|(path, _)| path)
}

/// Whether a variable of the environment may be in the command, in the arguments or in the
/// `subPathExpr` of a mount.
fn uses_environment(check: &Value) -> bool {
    let mounts = lenient_list(check, "volumeMounts").iter();
    let sub_paths = mounts.filter_map(|mount| mount.get("subPathExpr"));
    let words = lenient_list(check, "command")
        .iter()
        .chain(lenient_list(check, "args"));
    let mut texts = sub_paths.chain(words).filter_map(Value::as_str);
    texts.any(|text| text.contains('$'))
}

/// Whether the check's program comes from a mount of the check: the first word of `command` is an
/// absolute path at or below a mount path. Any other program comes from the check's own image, and
/// the image of an added check may not have it.
fn runs_program_of_mount(check: &Value) -> bool {
    let Some(program) = check.pointer("/command/0").and_then(Value::as_str) else {
        return false;
    };
    if !program.starts_with('/') || program.contains("..") || program.contains('$') {
        return false;
    }
    let program = path_parts(program);
    lenient_list(check, "volumeMounts").iter().any(|mount| {
        let folder = path_parts(lenient_string(mount, "mountPath").unwrap_or_default());
        !folder.is_empty() && program.starts_with(&folder)
    })
}

/// The parts of a path, without empty parts and `.`. `Path` would read the whole program again for
/// each mount.
fn path_parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect()
}

/// The fields of the template, as they fit into the Pod. `last_named` is the last init container
/// that `imageChecks.insertAfter` names: it fills the volumes of the template. The error says why a
/// check of the template could not run, as a clause.
fn from_template(
    template: &Container,
    pod: &Pod,
    last_named: Option<&Pull>,
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
    let claims = pod.request.object.pointer("/spec/volumeClaimTemplates");
    let claims = claims.and_then(Value::as_array).into_iter().flatten();
    let of_claims = claims.filter_map(|claim| claim.pointer("/metadata/name")?.as_str());
    pod.spec.volume_names().chain(of_claims).collect()
}

/// Checks that a mount of the template sees the same folder of its volume as one of these mounts. It
/// is an error if these have the volume, and all with another `subPath` or `subPathExpr`.
fn has_same_sub_path(mount: &VolumeMount, mounts: &[Value]) -> Result<(), String> {
    let wanted =
        [&mount.sub_path, &mount.sub_path_expr].map(|path| path.as_deref().unwrap_or_default());
    let sub_paths: Vec<_> = mounts
        .iter()
        .filter(|other| lenient_string(other, "name") == Some(&mount.name))
        .map(|other| {
            ["subPath", "subPathExpr"].map(|key| lenient_string(other, key).unwrap_or_default())
        })
        .collect();
    match sub_paths.first() {
        Some(first) if !sub_paths.contains(&wanted) => {
            let (volume, mount) = (sanitize(&mount.name), how_to_mount(*first));
            Err(format!(
                "imageChecks.template would not find its program: write its mount of {volume} {mount}"
            ))
        }
        _ => Ok(()),
    }
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
