//! A copy of an image check of the Pod, as the fields of an added init container.

use k8s_openapi::api::core::v1::Container;
use serde_json::{Map, Value};

use crate::json::{self, lenient_list, lenient_string};
use crate::pod::{Pod, Pull};

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

/// A copy of a check, without name, image and pull policy. None if the check's program comes from
/// its own image, or if an annotation gives it an `AppArmor` profile: the key of such an annotation
/// names one container, so a copy would have no profile.
///
/// # Errors
/// The path of a field that Kubernetes' type doesn't know, or that has another type.
pub(super) fn copy(pod: &Pod<'_>, check: &Pull<'_>) -> Result<Option<Container>, String> {
    let entry = check.value;
    let has_profile = pod.metadata.has_app_armor_profile(&check.name);
    if has_profile || !runs_program_of_mount(entry) {
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
    let container = json::container(&Value::Object(fields));
    container.map(Some).map_err(|invalid| invalid.path)
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
    let Some(program) = lenient_list(check, "command")
        .first()
        .and_then(Value::as_str)
    else {
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

/// The parts of a path, without empty parts and `.`.
fn path_parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect()
}
