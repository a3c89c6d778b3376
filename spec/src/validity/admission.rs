//! Two admission plugins that examine containers: `ResourceQuota` and Pod Security. Both run after
//! mutating webhooks, so these plugins may refuse a Pod because of an added container.

use serde_json::Value;

use super::{
    CONTAINERS, EPHEMERAL_CONTAINERS, Fault, Faults, INIT_CONTAINERS, containers, elements, is_set,
    text,
};

/// Returns the faults of a Pod spec in a namespace whose `ResourceQuota` counts requests and limits
/// of cpu and memory. Source: `pkg/quota/v1/evaluator/core/pods.go` `Constraints`.
#[must_use]
pub fn quota_faults(spec: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    for container in containers(spec, &[CONTAINERS, INIT_CONTAINERS]) {
        let of_pod = &spec["resources"];
        let resources = &container.fields["resources"];
        for kind in ["requests", "limits"] {
            for name in ["cpu", "memory"] {
                let is_there = |resources: &Value| is_set(&resources[kind], name);
                if !is_there(resources) && !is_there(of_pod) {
                    faults.add(
                        format!("{}.resources.{kind}.{name}", container.path),
                        "must be specified",
                        "pkg/quota/v1/evaluator/core/pods.go Constraints",
                    );
                }
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
/// the volumes, and these fields of each container's `securityContext`: `allowPrivilegeEscalation`,
/// `capabilities`, `seccompProfile`, `runAsNonRoot`, `runAsUser` and `privileged`. A container inherits
/// `seccompProfile`, `runAsNonRoot` and `runAsUser` from the Pod. Source:
/// `staging/src/k8s.io/pod-security-admission/policy/check_*.go`.
#[must_use]
pub fn restricted_faults(spec: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    let of_pod = &spec["securityContext"];
    for container in containers(spec, &[CONTAINERS, INIT_CONTAINERS, EPHEMERAL_CONTAINERS]) {
        let context = &container.fields["securityContext"];
        let mut refuse = |key: &str, source| {
            let path = format!("{}.securityContext.{key}", container.path);
            faults.add(path, "violates PodSecurity restricted", source);
        };
        let of_both = |pointer: &str| {
            let own = context.pointer(pointer).filter(|value| !value.is_null());
            own.or_else(|| of_pod.pointer(pointer))
                .cloned()
                .unwrap_or_default()
        };
        // The next three checks don't apply to a Windows Pod.
        if text(&spec["os"], "name") != "windows" {
            if context["allowPrivilegeEscalation"] != false {
                refuse(
                    "allowPrivilegeEscalation",
                    "check_allowPrivilegeEscalation.go",
                );
            }
            let drops_all = elements(&context["capabilities"], "drop").contains(&"ALL".into());
            let adds = elements(&context["capabilities"], "add").iter();
            if !drops_all || adds.into_iter().any(|one| one != "NET_BIND_SERVICE") {
                refuse("capabilities", "check_capabilities_restricted.go");
            }
            let seccomp = of_both("/seccompProfile/type");
            if !["RuntimeDefault", "Localhost"]
                .iter()
                .any(|one| seccomp == *one)
            {
                refuse("seccompProfile.type", "check_seccompProfile_restricted.go");
            }
        }
        if of_both("/runAsNonRoot") != true {
            refuse("runAsNonRoot", "check_runAsNonRoot.go");
        }
        if of_both("/runAsUser") == 0 {
            refuse("runAsUser", "check_runAsUser.go");
        }
        if context["privileged"] == true {
            refuse("privileged", "check_privileged.go");
        }
    }
    for (index, volume) in elements(spec, "volumes").iter().enumerate() {
        let is_allowed = ALLOWED_VOLUMES.iter().any(|key| is_set(volume, key));
        if !is_allowed {
            faults.add(
                format!("spec.volumes[{index}]"),
                "violates PodSecurity restricted",
                "check_restrictedVolumes.go",
            );
        }
    }
    faults.0
}
