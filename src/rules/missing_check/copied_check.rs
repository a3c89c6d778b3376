//! The fields that an added check copies from an image check.

use k8s_openapi::api::core::v1::Container;
use serde_json::{Map, Value};

use crate::document::JsonNode;
use crate::kubernetes_container_json;
use crate::pod_spec::Place;

/// The keys of these fields. Ports, probes, resource claims and devices are not copied.
const KEYS: [&str; 10] = [
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

/// The fields that an added check copies.
pub(super) struct FieldsCopiedFromCheck {
    /// A container with these fields alone.
    pub(super) container: Container,
    /// The size of the fields in the request, in bytes.
    pub(super) size: usize,
}

impl FieldsCopiedFromCheck {
    /// The fields that are copied from a check. None if the check can't be copied: its program comes from its own
    /// image, or one of the fields has a value that Kubernetes' type doesn't know.
    ///
    /// The environment is copied only if the command, the arguments or a mount may use a variable. Of `resources`,
    /// only the requests and the limits are copied, and only if `with_resources` is true.
    pub(super) fn of(check: &Place<'_>, with_resources: bool) -> Option<Self> {
        if !runs_program_of_a_mount(check) {
            return None;
        }
        let uses_environment = uses_environment(&check.node);
        let mut fields = Map::new();
        let mut size: usize = 0;
        for key in KEYS {
            let is_copied = match key {
                "env" | "envFrom" => uses_environment,
                "resources" => with_resources,
                _ => true,
            };
            if let Some(value) = check.node.get(key).filter(|_| is_copied) {
                let text = value.text();
                size = size
                    .saturating_add(text.len())
                    .saturating_add(key.len())
                    .saturating_add(4);
                let value = serde_json::from_str(text).ok()?;
                fields.insert(key.to_owned(), value);
            }
        }
        if let Some(Value::Object(resources)) = fields.get_mut("resources") {
            resources.retain(|key, _| key == "requests" || key == "limits");
            if resources.is_empty() {
                fields.remove("resources");
            }
        }
        let fields = Value::Object(fields);
        let (container, unknown) = kubernetes_container_json::read(&fields).ok()?;
        unknown.is_empty().then_some(Self { container, size })
    }
}

/// Whether a variable of the environment may be in the command, in the arguments or in the
/// `subPathExpr` of a mount.
fn uses_environment(check: &JsonNode<'_>) -> bool {
    let elements = |key| {
        check
            .get(key)
            .map(|list| list.elements())
            .unwrap_or_default()
    };
    let sub_paths = elements("volumeMounts").into_iter();
    let sub_paths = sub_paths.filter_map(|mount| mount.get("subPathExpr"));
    let mut texts = sub_paths.chain(elements("command")).chain(elements("args"));
    texts.any(|text| text.as_string().is_ok_and(|text| text.contains('$')))
}

/// Whether the check's program comes from a mount of the check: the first word of `command` is an
/// absolute path at or below a mount path. Any other program comes from the check's own image, and
/// the image of an added check may not have this program.
fn runs_program_of_a_mount(check: &Place<'_>) -> bool {
    let command = check.node.get("command").map(|command| command.elements());
    let program = command.as_deref().and_then(<[_]>::first);
    let Some(Ok(program)) = program.map(JsonNode::as_string) else {
        return false;
    };
    if !program.starts_with('/') || program.contains("..") || program.contains('$') {
        return false;
    }
    let program = path_parts(&program);
    check.mounts().iter().any(|mount| {
        let folder = path_parts(&mount.path);
        !folder.is_empty() && program.starts_with(&folder)
    })
}

/// The parts of a path, without empty parts and `.`.
fn path_parts(path: &str) -> Vec<&str> {
    let parts = path.split('/');
    parts.filter(|part| !matches!(*part, "" | ".")).collect()
}
