//! Recognises Windows Pods, and finds the fields that a Pod can't have with its `spec.os.name`.

use serde_json::Value;

use super::{CONTAINERS, Faults, INIT_CONTAINERS, containers, elements, is_set, text};

const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

/// Whether a Pod runs on Windows nodes only. Three fields are read in this order, and the first field
/// that names an operating system decides: `spec.os.name`, the node selector, the required node
/// affinity. The affinity names Windows if each of its terms has an expression with an OS label, the
/// operator `In` and the single value `windows`. The section *missing-check* of docs/rules.md has the
/// same rule.
#[must_use]
pub fn is_windows(spec: &Value) -> bool {
    if !text(&spec["os"], "name").is_empty() {
        return text(&spec["os"], "name") == "windows";
    }
    let selected = OS_LABELS.map(|label| text(&spec["nodeSelector"], label));
    if let Some(os) = selected.into_iter().find(|os| !os.is_empty()) {
        return os == "windows";
    }
    let required =
        spec.pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    let terms = required.map_or(&[][..], |required| elements(required, "nodeSelectorTerms"));
    let is_for_windows = |term: &Value| {
        elements(term, "matchExpressions").iter().any(|one| {
            OS_LABELS.contains(&text(one, "key"))
                && text(one, "operator") == "In"
                && one["values"] == serde_json::json!(["windows"])
        })
    };
    !terms.is_empty() && terms.iter().all(is_for_windows)
}

/// Fields of a Pod's security context that Windows doesn't have.
const OF_POD: [&str; 9] = [
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "sysctls",
];

/// Fields of a container's security context that Windows doesn't have, except `seLinuxOptions`.
const OF_CONTAINER: [&str; 9] = [
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seccompProfile",
];

/// Checks that the Pod sets no field that its operating system forbids. Only `spec.os.name` names the
/// operating system here, because the API server reads no other field to find it.
pub(super) fn check(spec: &Value, faults: &mut Faults) {
    let os = text(&spec["os"], "name");
    let mut forbid = |value: &Value, path: &str, keys: &[&str], source| {
        for key in keys.iter().filter(|key| is_set(value, key)) {
            let problem = format!("cannot be set for a {os} pod");
            faults.add(format!("{path}.{key}"), problem, source);
        }
    };
    let all = containers(spec, &[CONTAINERS, INIT_CONTAINERS]);
    match os {
        "windows" => {
            let source = "validation.go validateWindows";
            forbid(
                &spec["securityContext"],
                "spec.securityContext",
                &OF_POD,
                source,
            );
            forbid(spec, "spec", &["shareProcessNamespace"], source);
            for container in all {
                let path = format!("{}.securityContext", container.path);
                let keys = [&OF_CONTAINER[..], &["seLinuxOptions"]].concat();
                forbid(&container.fields["securityContext"], &path, &keys, source);
            }
        }
        "linux" => {
            let source = "validation.go validateLinux";
            for container in all {
                let path = format!("{}.securityContext", container.path);
                forbid(
                    &container.fields["securityContext"],
                    &path,
                    &["windowsOptions"],
                    source,
                );
            }
        }
        _ => {}
    }
}
