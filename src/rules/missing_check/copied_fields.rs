//! The fields that an added check copies from an image check.

use crate::document::Node;
use crate::pod::Place;

/// The keys of these fields, in the order in which they are written. Ports, probes, resource claims
/// and devices are not copied.
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

/// The fields that are copied from a check, as members of a JSON object, each with a comma before it. The
/// environment is copied only if the command, the arguments or a mount may use a variable. Of
/// `resources`, only the requests and the limits are copied, and only if `with_resources` is true.
pub(super) fn copied_fields(check: &Place<'_>, with_resources: bool) -> String {
    let has_variable = uses_environment(&check.node);
    let copied = |key| {
        let value = check.node.get(key)?;
        match key {
            "env" | "envFrom" if !has_variable => None,
            "resources" if !with_resources => None,
            "resources" => Some(format!(",\"{key}\":{}", requests_and_limits(&value)?)),
            _ => Some(format!(",\"{key}\":{}", value.text())),
        }
    };
    KEYS.into_iter().filter_map(copied).collect()
}

/// The requests and limits in `resources`, as a JSON object. None if there are none.
fn requests_and_limits(resources: &Node<'_>) -> Option<String> {
    let lists: Vec<String> = ["requests", "limits"]
        .into_iter()
        .filter_map(|key| Some(format!("\"{key}\":{}", resources.get(key)?.text())))
        .collect();
    (!lists.is_empty()).then(|| format!("{{{}}}", lists.join(",")))
}

/// Whether a variable of the environment may be in the command, in the arguments or in the
/// `subPathExpr` of a mount.
fn uses_environment(check: &Node<'_>) -> bool {
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
pub(super) fn runs_program_of_a_mount(check: &Place<'_>) -> bool {
    let command = check.node.get("command").map(|command| command.elements());
    let program = command.as_deref().and_then(<[_]>::first);
    let Some(Ok(program)) = program.map(Node::as_string) else {
        return false;
    };
    program.starts_with('/')
        && !program.contains("..")
        && !program.contains('$')
        && check.mounts().iter().any(|mount| {
            let mut parts = path_parts(&program);
            let mut of_mount = path_parts(&mount.path).peekable();
            of_mount.peek().is_some() && of_mount.all(|part| parts.next() == Some(part))
        })
}

/// The parts of a path, without empty parts and `.`.
fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}
