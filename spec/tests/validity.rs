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
                "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/w"}],
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

/// Sets one field of a valid Pod, and returns the paths of the faults.
fn faults_with(pointer: &str, value: Value) -> Vec<String> {
    let mut pod = valid_pod();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match pod.pointer_mut(parent).expect("the parent is there") {
        Value::Array(list) => list[key.parse::<usize>().expect("an index")] = value,
        object => object[key] = value,
    }
    faults(&pod).into_iter().map(|fault| fault.path).collect()
}

/// A text of this length.
fn long(size: usize) -> Value {
    "x".repeat(size).into()
}

/// Each row writes a value into one field of the valid Pod's spec. Only this field has a fault.
#[test]
fn a_fault_is_found_at_its_field() {
    for (field, value) in [
        ("containers/0/name", json!("App")),
        ("containers/0/name", json!("-app")),
        ("containers/0/name", long(64)),
        ("containers/0/name", json!("check")),
        ("containers/0/image", json!("")),
        ("initContainers/1/lifecycle", json!({})),
        ("volumes/2/name", long(64)),
        ("volumes/2/name", json!("d")),
        ("containers/0/volumeMounts/0/name", json!("w")),
        ("containers/0/volumeMounts/0/mountPath", json!("/dev/d")),
        ("containers/0/volumeMounts/1/mountPath", json!("/v")),
        ("containers/0/volumeDevices/0/name", json!("v")),
        ("containers/0/resources/claims/0", json!({"name": "tpu"})),
        ("resources/requests/cpu", json!("999m")),
        ("resources/limits/hugepages-2Mi", json!("3Mi")),
    ] {
        let found = faults_with(&format!("/spec/{field}"), value);
        let found = found.join(" ").replace('[', ".").replace(']', "");
        assert_eq!(found, format!("spec.{}", field.replace('/', ".")));
    }
}

/// Each row writes a value into one field of the valid Pod, and has the faults.
#[test]
fn faults_of_the_whole_pod_are_found() {
    let cpu = |request: &str| json!({"requests": {"cpu": request}});
    let pages = |limit: &str| json!({"limits": {"hugepages-2Mi": limit}});
    let (app, check) = (
        "/spec/containers/0/resources",
        "/spec/initContainers/1/resources",
    );
    for (pointer, value, expected) in [
        ("/spec/containers/0/name", long(63), vec![]),
        // A sidecar runs beside a check, and beside the app containers. A check runs before them.
        (app, cpu("0.5"), vec![]),
        (app, cpu("501m"), vec!["spec.resources.requests.cpu"]),
        (check, cpu("501m"), vec!["spec.resources.requests.cpu"]),
        // Only the limits of huge pages are added like requests.
        (check, json!({"limits": {"cpu": "3"}}), vec![]),
        (check, pages("4Mi"), vec![]),
        (
            check,
            pages("5Mi"),
            vec!["spec.resources.limits.hugepages-2Mi"],
        ),
        ("/metadata/annotations/a", long(200_000), vec![]),
        (
            "/metadata/annotations/a",
            long(300_000),
            vec!["metadata.annotations"],
        ),
        ("/spec/containers/0/args", json!([long(1_500_000)]), vec![]),
        (
            "/spec/containers/0/args",
            json!([long(1_600_000)]),
            vec![""],
        ),
    ] {
        assert_eq!(faults_with(pointer, value), expected, "{pointer}");
    }
}

#[test]
fn a_windows_pod_refuses_fields_that_only_linux_has() {
    for (os, expected) in [
        ("linux", vec![]),
        (
            "windows",
            vec!["spec.containers[0].securityContext.runAsUser"],
        ),
    ] {
        let mut pod = valid_pod();
        pod["spec"]["os"] = json!({"name": os});
        pod["spec"]["containers"][0]["securityContext"] = json!({"runAsUser": 1});
        let found: Vec<_> = faults(&pod).into_iter().map(|fault| fault.path).collect();
        assert_eq!(found, expected, "{os}");
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
