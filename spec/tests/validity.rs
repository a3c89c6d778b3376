//! Tests the oracle of Pod validation in `spec/src/validity.rs`. It must find each kind of fault, and
//! report no fault in a valid Pod. Other tests examine the two admission plugins, the quality of service
//! and the recognition of Windows Pods.

use consistent_pull_policy_spec::corpus::fill_in_defaults;
use consistent_pull_policy_spec::validity::admission::{quota_faults, restricted_faults};
use consistent_pull_policy_spec::validity::faults;
use consistent_pull_policy_spec::validity::quantity::billionths;
use consistent_pull_policy_spec::validity::service::{QualityOfService, quality_of_service};
use consistent_pull_policy_spec::validity::windows::is_windows;
use serde_json::{Value, json};

/// A Pod in which the oracle finds no fault.
fn valid_pod() -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "annotations": {"container.apparmor.security.beta.kubernetes.io/check": "runtime/default"},
        },
        "spec": {
            "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            "initContainers": [{
                "name": "check",
                "image": "a:1",
                "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}},
            }],
            "containers": [{
                "name": "app",
                "image": "a:1",
                "env": [{"name": "CPU", "valueFrom": {"resourceFieldRef": {
                    "containerName": "check", "resource": "requests.cpu",
                }}}],
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

/// Sets one field of a valid Pod, and expects faults in the fields `paths` and in no others.
fn assert_faults(pointer: &str, value: Value, paths: &[&str]) {
    let mut pod = valid_pod();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match pod.pointer_mut(parent).expect("the parent is there") {
        Value::Array(list) => list[key.parse::<usize>().expect("an index")] = value,
        object => object[key] = value,
    }
    let found: Vec<String> = faults(&pod).into_iter().map(|fault| fault.path).collect();
    assert_eq!(found, paths, "{pointer}");
}

#[test]
fn the_valid_pod_has_no_fault() {
    assert_eq!(faults(&valid_pod()), []);
}

#[test]
fn names_and_references_to_them_are_judged() {
    let long = || Value::from("x".repeat(64));
    let annotation = "metadata.annotations[container.apparmor.security.beta.kubernetes.io/check]";
    let name = "/spec/containers/0/name";
    assert_faults(name, "App".into(), &["spec.containers[0].name"]);
    assert_faults(name, "-app".into(), &["spec.containers[0].name"]);
    assert_faults(name, long(), &["spec.containers[0].name"]);
    assert_faults(name, "x".repeat(63).into(), &[]);
    assert_faults(name, "check".into(), &["spec.initContainers[0].name"]);
    let image = "/spec/containers/0/image";
    assert_faults(image, "".into(), &["spec.containers[0].image"]);
    assert_faults(image, " a:1".into(), &["spec.containers[0].image"]);
    let probe = "/spec/initContainers/0/livenessProbe";
    assert_faults(probe, json!({}), &["spec.initContainers[0].livenessProbe"]);
    let lists = ["/spec/initContainers", "/spec/containers"];
    assert_faults(
        lists[0],
        json!([]),
        &[annotation, "spec.containers[0].env[0]"],
    );
    assert_faults(lists[1], json!([]), &["spec.containers"]);
    let volume = "/spec/volumes/2/name";
    assert_faults(volume, long(), &["spec.volumes[2].name"]);
    assert_faults(volume, "d".into(), &["spec.volumes[2].name"]);
    let reference = "/spec/volumes/0/image/reference";
    assert_faults(reference, "".into(), &["spec.volumes[0].image.reference"]);
    assert_faults("/spec/volumes/0/emptyDir", json!({}), &["spec.volumes[0]"]);
}

#[test]
fn mounts_and_devices_are_judged() {
    let mounts = "/spec/containers/0/volumeMounts";
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let of_first = |key: &str| format!("spec.containers[0].volumeMounts[0].{key}");
    assert_faults(mounts, json!([mount("w", "/v")]), &[&of_first("name")]);
    assert_faults(mounts, json!([mount("d", "/v")]), &[&of_first("name")]);
    assert_faults(mounts, json!([mount("v", "")]), &[&of_first("mountPath")]);
    assert_faults(
        mounts,
        json!([mount("v", "/dev/d")]),
        &[&of_first("mountPath")],
    );
    let twice = json!([mount("v", "/v"), mount("v", "/v")]);
    assert_faults(
        mounts,
        twice,
        &["spec.containers[0].volumeMounts[1].mountPath"],
    );
    assert_faults(mounts, json!([mount("v", "/v"), mount("v", "/w")]), &[]);
    let devices = "/spec/containers/0/volumeDevices";
    let device = |name: &str| json!({"name": name, "devicePath": "/dev/d"});
    let of_image = json!([device("v")]);
    let name = "spec.containers[0].volumeDevices[0].name";
    let mount_name = of_first("name");
    assert_faults(devices, of_image, &[&mount_name, name]);
    let twice = json!([device("d"), device("d")]);
    assert_faults(
        devices,
        twice,
        &["spec.containers[0].volumeDevices[1].devicePath"],
    );
}

#[test]
fn quantities_with_different_suffixes_are_compared_by_value() {
    let same = [
        ["1", "1000m"],
        ["0.5", "500m"],
        ["1Gi", "1024Mi"],
        ["1.5Gi", "1536Mi"],
        ["2e3", "2k"],
        ["1", "1000000000n"],
        ["128Mi", "134217728"],
        [".5", "5e-1"],
    ];
    for [a, b] in same {
        assert!(billionths(a).is_some(), "{a}");
        assert_eq!(billionths(a), billionths(b), "{a} and {b}");
    }
    assert!(billionths("1G") < billionths("1Gi"));
    assert!(billionths("-1") < billionths("0"));
    for text in ["", "m", "1 Gi", "1.2.3", "1Qi", "e3"] {
        assert_eq!(billionths(text), None, "{text}");
    }
}

#[test]
fn resources_are_judged_also_those_of_the_pod() {
    let claim = "/spec/containers/0/resources/claims/0/name";
    assert_faults(
        claim,
        "tpu".into(),
        &["spec.containers[0].resources.claims[0]"],
    );
    let check = "/spec/initContainers/0/resources";
    let path = "spec.initContainers[0].resources";
    let resources = |request: &str, limit: &str| json!({"requests": {"cpu": request}, "limits": {"cpu": limit}});
    assert_faults(check, resources("1", "1000m"), &[]);
    assert_faults(
        check,
        resources("1", "999m"),
        &[&format!("{path}.requests.cpu")],
    );
    // Only app containers' limits are compared one by one with those of the Pod.
    assert_faults(check, resources("1", "2001m"), &[]);
    assert_faults(
        "/spec/containers/0/resources",
        resources("1", "2001m"),
        &["spec.containers[0].resources.limits.cpu"],
    );
    assert_faults(
        check,
        resources("1.5", "2"),
        &["spec.resources.requests.cpu"],
    );
    // App containers and sidecars run at the same time, so their requests are added. A check runs before
    // the app containers, so its request is not added to the requests of the app containers.
    let app = "/spec/containers/0/resources";
    assert_faults(app, json!({"requests": {"cpu": "1"}}), &[]);
    let too_much = json!({"requests": {"cpu": "1001m"}});
    assert_faults(app, too_much, &["spec.resources.requests.cpu"]);
    let of_check = valid_pod()["spec"]["initContainers"][0].clone();
    let mut sidecar = of_check.clone();
    sidecar["name"] = "sidecar".into();
    sidecar["restartPolicy"] = "Always".into();
    sidecar["resources"] = json!({"requests": {"cpu": "600m"}});
    let list = json!([sidecar, of_check]);
    assert_faults(
        "/spec/initContainers",
        list,
        &["spec.resources.requests.cpu"],
    );
}

/// The limits of huge pages are added like requests, those of init containers too.
#[test]
fn the_limits_of_huge_pages_are_added() {
    let pages = |size: &str| json!({"limits": {"hugepages-2Mi": size}, "requests": {"hugepages-2Mi": size}});
    let of_pod = |app: &str, check: &str| {
        let mut pod = valid_pod();
        pod["spec"]["resources"] = pages("8Mi");
        pod["spec"]["containers"][0]["resources"] = pages(app);
        let sidecar = json!({"name": "s", "image": "a:1", "restartPolicy": "Always", "resources": pages("4Mi")});
        pod["spec"]["initContainers"][0]["resources"] = pages(check);
        let list = pod["spec"]["initContainers"].as_array_mut();
        list.expect("a list").insert(0, sidecar);
        let faults = faults(&pod).into_iter();
        let found: Vec<String> = faults.map(|fault| fault.path).collect();
        found.join(" ")
    };
    let both = "spec.resources.requests.hugepages-2Mi spec.resources.limits.hugepages-2Mi";
    let rows = [
        ("4Mi", "4Mi", ""),
        ("6Mi", "4Mi", both),
        ("4Mi", "6Mi", both),
    ];
    for (app, check, expected) in rows {
        assert_eq!(of_pod(app, check), expected, "{app} {check}");
    }
}

#[test]
fn sizes_are_judged() {
    let annotation = "/metadata/annotations/large";
    assert_faults(annotation, "x".repeat(200_000).into(), &[]);
    assert_faults(
        annotation,
        "x".repeat(300_000).into(),
        &["metadata.annotations"],
    );
    let arguments = "/spec/containers/0/args";
    assert_faults(arguments, json!(["x".repeat(1_500_000)]), &[]);
    assert_faults(arguments, json!(["x".repeat(1_600_000)]), &[""]);
}

#[test]
fn linux_fields_are_faults_in_a_windows_pod() {
    let pod = |os: &str, context: Value| {
        let mut pod = json!({"spec": {
            "os": {"name": os},
            "containers": [{"name": "app", "image": "a:1", "securityContext": context}],
        }});
        fill_in_defaults(&mut pod);
        pod
    };
    let of_linux = json!({"capabilities": {"drop": ["ALL"]}});
    let of_windows = json!({"windowsOptions": {"runAsUserName": "u"}});
    assert_eq!(faults(&pod("linux", of_linux.clone())), []);
    assert_eq!(faults(&pod("windows", of_windows.clone())), []);
    assert_eq!(faults(&pod("windows", of_linux)).len(), 1);
    assert_eq!(faults(&pod("linux", of_windows)).len(), 1);
}

#[test]
fn the_first_field_that_names_an_os_decides_whether_a_pod_is_for_windows() {
    let affinity = |terms: Value| {
        json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
        }}})
    };
    let term = |key: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": "In", "values": values}]});
    let of_windows = term("kubernetes.io/os", json!(["windows"]));
    let rows = [
        (json!({}), false),
        (json!({"os": {"name": "windows"}}), true),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
            true,
        ),
        (
            json!({"nodeSelector": {"beta.kubernetes.io/os": "windows"}}),
            true,
        ),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "linux"}}),
            false,
        ),
        (
            json!({"os": {"name": "linux"}, "nodeSelector": {"kubernetes.io/os": "windows"}}),
            false,
        ),
        (affinity(json!([of_windows])), true),
        (affinity(json!([])), false),
        (
            affinity(json!([of_windows, term("pool", json!(["a"]))])),
            false,
        ),
        (
            affinity(json!([term(
                "kubernetes.io/os",
                json!(["linux", "windows"])
            )])),
            false,
        ),
        (
            affinity(json!([term("beta.kubernetes.io/os", json!(["windows"]))])),
            true,
        ),
    ];
    for (spec, expected) in rows {
        assert_eq!(is_windows(&spec), expected, "{spec}");
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
