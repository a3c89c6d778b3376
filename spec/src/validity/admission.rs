//! Two admission plugins that examine containers: `ResourceQuota` and Pod Security. Both run after
//! mutating webhooks, so these plugins may refuse a Pod because of an added container or volume.

use serde_json::{Value, json};

use super::{Fault, Faults, containers};
use crate::json::elements;

/// Returns the faults of a Pod spec in a namespace whose `ResourceQuota` counts requests and limits
/// of cpu and memory. Source: `pkg/quota/v1/evaluator/core/pods.go` `Constraints`.
#[must_use]
pub fn quota_faults(spec: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    for container in containers(spec) {
        for pointer in [
            "requests/cpu",
            "requests/memory",
            "limits/cpu",
            "limits/memory",
        ] {
            let pointer = format!("/resources/{pointer}");
            let is_there = |owner: &Value| owner.pointer(&pointer).is_some();
            if !is_there(container.fields) && !is_there(spec) {
                faults.add(format!("{}{pointer}", container.path), "must be specified");
            }
        }
    }
    faults.0
}

/// The kinds of volumes that the Pod Security level `restricted` allows.
const ALLOWED_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// Returns the faults of a Pod spec under Pod Security's level `restricted`. Checks only the kinds of
/// the volumes, and those fields of the containers' `securityContext` that an added check can have or
/// lack. A container inherits `seccompProfile`, `runAsNonRoot` and `runAsUser` from the Pod. Source:
/// `staging/src/k8s.io/pod-security-admission/policy/check_*.go`.
#[must_use]
pub fn restricted_faults(spec: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    // Three of the checks don't apply to a Windows Pod.
    let is_linux = spec["os"]["name"] != "windows";
    for container in containers(spec) {
        let context = &container.fields["securityContext"];
        let of_both = |key: &str| match &context[key] {
            Value::Null => &spec["securityContext"][key],
            own => own,
        };
        let drops_all = elements(&context["capabilities"], "drop").contains(&"ALL".into());
        let adds = elements(&context["capabilities"], "add").iter();
        let adds_other = adds.into_iter().any(|one| one != "NET_BIND_SERVICE");
        let seccomp = &of_both("seccompProfile")["type"];
        let has_profile = [json!("RuntimeDefault"), json!("Localhost")].contains(seccomp);
        for (key, is_refused) in [
            (
                "allowPrivilegeEscalation",
                is_linux && context["allowPrivilegeEscalation"] != false,
            ),
            ("capabilities", is_linux && (!drops_all || adds_other)),
            ("seccompProfile", is_linux && !has_profile),
            ("runAsNonRoot", *of_both("runAsNonRoot") != true),
            ("runAsUser", *of_both("runAsUser") == 0),
            ("privileged", context["privileged"] == true),
        ] {
            if is_refused {
                let path = format!("{}.securityContext.{key}", container.path);
                faults.add(path, "violates PodSecurity restricted");
            }
        }
    }
    for (index, volume) in elements(spec, "volumes").iter().enumerate() {
        let is_allowed = ALLOWED_VOLUMES.iter().any(|key| !volume[key].is_null());
        if !is_allowed {
            let path = format!("spec.volumes[{index}]");
            faults.add(path, "violates PodSecurity restricted");
        }
    }
    faults.0
}
