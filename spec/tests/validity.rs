//! Tests the oracle of Pod validation in `spec/src/validity.rs`. It must find each kind of fault, and
//! report no fault in a valid Pod. Other tests examine the two admission plugins and the quality of
//! service.

use consistent_pull_policy_spec::corpus::fill_in_defaults;
use consistent_pull_policy_spec::validity::admission::{quota_faults, restricted_faults};
use consistent_pull_policy_spec::validity::faults;
use consistent_pull_policy_spec::validity::quantity::billionths;
use consistent_pull_policy_spec::validity::service::{QualityOfService, quality_of_service};
use serde_json::{Value, json};

/// A Pod in which the oracle finds no fault.
fn valid_pod() -> Value {
    let mut pod = json!({
        "metadata": {"name": "p", "annotations": {}},
        "spec": {
            "resources": {
                "requests": {"cpu": "1", "hugepages-2Mi": "8Mi"},
                "limits": {"cpu": "2", "hugepages-2Mi": "8Mi"},
            },
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            "initContainers": [
                {
                    "name": "sidecar", "image": "a:1", "restartPolicy": "Always", "startupProbe": {},
                    "resources": {"requests": {"cpu": "500m"}, "limits": {"hugepages-2Mi": "4Mi"}},
                },
                {"name": "check", "image": "a:1", "resources": {"requests": {"cpu": "0.5"}}},
            ],
            "containers": [{
                "name": "app",
                "image": "a:1",
                "resources": {"claims": [{"name": "gpu"}]},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "volumeDevices": [{"name": "d", "devicePath": "/dev/d"}],
            }],
            "volumes": [
                {"name": "v", "image": {"reference": "b:1"}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "d"}},
                {"name": "unused", "emptyDir": {}},
            ],
        },
    });
    fill_in_defaults(&mut pod);
    pod
}

/// Each row sets one field of a valid Pod, and names the path of the fault. The path `-` means that there
/// is no fault.
#[test]
fn each_kind_of_fault_is_found() {
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let cpu = |request: &str| json!({"requests": {"cpu": request}});
    let pages = |limit: &str| json!({"limits": {"hugepages-2Mi": limit}});
    let large = |size: usize| Value::from("x".repeat(size));
    let rows = [
        ("/spec/os", json!({"name": "linux"}), "-"),
        (
            "/spec/containers/0/name",
            "App".into(),
            "spec.containers[0].name",
        ),
        (
            "/spec/containers/0/name",
            "-a".into(),
            "spec.containers[0].name",
        ),
        (
            "/spec/containers/0/name",
            large(64),
            "spec.containers[0].name",
        ),
        ("/spec/containers/0/name", large(63), "-"),
        (
            "/spec/containers/0/name",
            "check".into(),
            "spec.containers[0].name",
        ),
        ("/spec/volumes/2/name", large(64), "spec.volumes[2].name"),
        ("/spec/volumes/2/name", "d".into(), "spec.volumes[2].name"),
        (
            "/spec/containers/0/image",
            "".into(),
            "spec.containers[0].image",
        ),
        (
            "/spec/initContainers/1/lifecycle",
            json!({}),
            "spec.initContainers[1].lifecycle",
        ),
        (
            "/spec/containers/0/volumeMounts/0",
            mount("w", "/v"),
            "spec.containers[0].volumeMounts[0].name",
        ),
        (
            "/spec/containers/0/volumeMounts/0",
            mount("v", "/dev/d"),
            "spec.containers[0].volumeMounts[0].mountPath",
        ),
        (
            "/spec/containers/0/volumeMounts",
            json!([mount("v", "/v"), mount("v", "/v")]),
            "spec.containers[0].volumeMounts[1].mountPath",
        ),
        (
            "/spec/containers/0/volumeMounts",
            json!([mount("v", "/v"), mount("v", "/w")]),
            "-",
        ),
        (
            "/spec/containers/0/volumeDevices/0/name",
            "v".into(),
            "spec.containers[0].volumeDevices[0].name",
        ),
        (
            "/spec/containers/0/resources/claims/0/name",
            "tpu".into(),
            "spec.containers[0].resources.claims[0]",
        ),
        // A sidecar runs beside a check, and beside the app containers. A check runs before them.
        ("/spec/containers/0/resources", cpu("0.5"), "-"),
        (
            "/spec/containers/0/resources",
            cpu("501m"),
            "spec.resources.requests.cpu",
        ),
        (
            "/spec/initContainers/1/resources",
            cpu("501m"),
            "spec.resources.requests.cpu",
        ),
        // The limits of huge pages are added like requests.
        ("/spec/initContainers/1/resources", pages("4Mi"), "-"),
        (
            "/spec/initContainers/1/resources",
            pages("5Mi"),
            "spec.resources.limits.hugepages-2Mi",
        ),
        ("/metadata/annotations/large", large(200_000), "-"),
        (
            "/metadata/annotations/large",
            large(300_000),
            "metadata.annotations",
        ),
        ("/spec/containers/0/args", json!([large(1_500_000)]), "-"),
        ("/spec/containers/0/args", json!([large(1_600_000)]), ""),
    ];
    for (pointer, value, path) in rows {
        let mut pod = valid_pod();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match pod.pointer_mut(parent).expect("the parent is there") {
            Value::Array(list) => list[key.parse::<usize>().expect("an index")] = value,
            object => object[key] = value,
        }
        let found: Vec<String> = faults(&pod).into_iter().map(|fault| fault.path).collect();
        let expected = Vec::from_iter((path != "-").then(|| path.to_owned()));
        assert_eq!(found, expected, "{pointer}");
    }
}

#[test]
fn quantities_with_different_suffixes_are_compared_by_value() {
    let same = [
        ["1", "1000m"],
        ["0.5", "500m"],
        ["1Gi", "1024Mi"],
        ["1.5Gi", "1536Mi"],
        ["1", "1000000000n"],
        ["128Mi", "134217728"],
    ];
    for [a, b] in same {
        assert!(billionths(a).is_some(), "{a}");
        assert_eq!(billionths(a), billionths(b), "{a} and {b}");
    }
    assert!(billionths("1G") < billionths("1Gi"));
    for text in ["", "m", "1 Gi", "1.2.3", "1Qi", "e3"] {
        assert_eq!(billionths(text), None, "{text}");
    }
}

#[test]
fn the_quality_of_service_is_that_of_kubernetes() {
    use QualityOfService::{BestEffort, Burstable, Guaranteed};
    let both = |cpu: &str| json!({"cpu": cpu, "memory": "1Gi"});
    let equal = json!({"requests": both("1"), "limits": both("1000m")});
    let request = json!({"requests": {"cpu": "1"}});
    let storage = json!({"requests": {"ephemeral-storage": "1Gi"}});
    let none = json!({"requests": {"cpu": "0"}});
    let spec = |init: &Value, app: &Value| {
        json!({
            "initContainers": [{"resources": init}],
            "containers": [{"resources": app}],
        })
    };
    let rows = [
        (spec(&json!({}), &json!({})), BestEffort),
        (spec(&storage, &none), BestEffort),
        (spec(&request, &json!({})), Burstable),
        (spec(&json!({}), &equal), Burstable),
        (spec(&equal, &equal), Guaranteed),
        (
            spec(&equal, &json!({"requests": both("1"), "limits": both("2")})),
            Burstable,
        ),
    ];
    for (spec, expected) in rows {
        assert_eq!(quality_of_service(&spec), expected, "{spec}");
    }
    // If the Pod spec has the field `resources`, the containers' resources don't count.
    let rows = [
        (equal.clone(), json!({}), Guaranteed),
        (json!({}), equal.clone(), BestEffort),
        (none, equal.clone(), BestEffort),
        (json!(null), equal, Guaranteed),
    ];
    for (of_pod, of_containers, expected) in rows {
        let mut spec = spec(&of_containers, &of_containers);
        spec["resources"] = of_pod;
        assert_eq!(quality_of_service(&spec), expected, "{spec}");
    }
}

#[test]
fn a_quota_and_pod_security_look_at_every_container() {
    let container = json!({
        "resources": {"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    });
    let spec = json!({
        "securityContext": {"runAsNonRoot": true},
        "initContainers": [container],
        "containers": [container],
        "volumes": [{"name": "v", "image": {"reference": "a:1"}}],
    });
    assert_eq!(quota_faults(&spec), []);
    assert_eq!(restricted_faults(&spec), []);
    for pointer in ["/initContainers/0", "/containers/0"] {
        let mut bare = spec.clone();
        *bare.pointer_mut(pointer).expect("the container") = json!({});
        assert_eq!(quota_faults(&bare).len(), 4, "{pointer}");
        assert_eq!(restricted_faults(&bare).len(), 3, "{pointer}");
    }
    let mut on_host = spec;
    on_host["volumes"][0] = json!({"name": "v", "hostPath": {"path": "/"}});
    assert_eq!(restricted_faults(&on_host).len(), 1);
}
