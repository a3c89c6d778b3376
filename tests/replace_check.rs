//! The rule *replace-check*: checks that are init containers become check volumes.

mod common;

use common::image_volumes::{mount, repaired_spec, volume, with_mounts};
use common::{captured, container, pod_create, validate};
use serde_json::{Value, json};

/// The CREATE request of a Pod that a Job has created.
fn pod_of_a_controller(spec: &Value) -> Value {
    let mut request = pod_create(spec);
    request["object"]["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": true}]);
    request
}

/// Settings under which only *replace-check* acts on checks.
fn replace_existing() -> Value {
    json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true, "coverage": "Off"}, "recordChanges": false})
}

#[test]
fn the_checks_of_a_pod_with_a_controller_become_volumes() {
    let mut request = captured("agent-stack-pod-create");
    // Otherwise the Pod would become `BestEffort` without its checks.
    request["object"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    let settings =
        json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true, "coverage": "Off"}});
    let spec = repaired_spec(&request, &settings);
    let names = |list: &str| -> Vec<&str> {
        spec[list]
            .as_array()
            .expect("a list")
            .iter()
            .map(|item| item["name"].as_str().expect("a name"))
            .collect()
    };
    assert_eq!(names("initContainers"), ["copy-agent"]);
    let volumes = spec["volumes"].as_array().expect("volumes");
    let added: Vec<&Value> = volumes
        .iter()
        .filter(|volume| volume.get("image").is_some())
        .collect();
    assert_eq!(
        added,
        [
            &volume("imagecheck-0", "my-app:v1.2.3", "Always"),
            &volume(
                "imagecheck-1",
                "docker.io/library/postgres:16",
                "IfNotPresent"
            ),
        ]
    );
    let mounts = spec["initContainers"][0]["volumeMounts"]
        .as_array()
        .expect("mounts");
    assert!(mounts.ends_with(&[mount("imagecheck-0"), mount("imagecheck-1")]));
}

#[test]
fn the_first_check_stays_and_mounts_the_volumes_if_no_init_container_would_remain() {
    let inits: Vec<Value> = (0..100)
        .map(|number| {
            container(
                &format!("imagecheck-{number}"),
                &format!("a:{number}"),
                "Always",
            )
        })
        .collect();
    let spec =
        json!({"initContainers": inits, "containers": [container("a", "a:99", "IfNotPresent")]});
    let spec = repaired_spec(&pod_of_a_controller(&spec), &replace_existing());
    let mounts: Vec<Value> = (1..100)
        .map(|number| mount(&format!("imagecheck-{number}")))
        .collect();
    assert_eq!(
        spec["initContainers"],
        json!([with_mounts(inits[0].clone(), json!(mounts))])
    );
    assert_eq!(spec["volumes"].as_array().map(Vec::len), Some(99));
}

#[test]
fn a_check_that_cannot_become_a_volume_stays() {
    let long = format!("imagecheck-{}", "x".repeat(60));
    let mut sidecar = container("imagecheck-9", "s:1", "Always");
    sidecar["restartPolicy"] = json!("Always");
    let carrier = with_mounts(
        container("init", "i:1", "IfNotPresent"),
        json!([{"name": "x", "mountPath": "/.imagecheck/imagecheck-1"}]),
    );
    let spec = json!({
        "initContainers": [
            carrier,
            container("imagecheck-0", "a:0", "Always"),
            container("imagecheck-1", "a:1", "Always"),
            container("imagecheck-2", "a:2", "Always"),
            container(&long, "a:3", "Always"),
            sidecar,
        ],
        "containers": [container("a", "a:2", "IfNotPresent")],
        "volumes": [{"name": "x", "emptyDir": {}}, {"name": "imagecheck-0", "emptyDir": {}}],
    });
    let after = repaired_spec(&pod_of_a_controller(&spec), &replace_existing());
    let names: Vec<&str> = after["initContainers"]
        .as_array()
        .expect("init containers")
        .iter()
        .map(|init| init["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "init",
            "imagecheck-0",
            "imagecheck-1",
            &long,
            "imagecheck-9"
        ]
    );
    assert_eq!(after["volumes"][2], volume("imagecheck-2", "a:2", "Always"));

    // Nothing changes in a Pod without a controller, and in a Windows Pod.
    assert_eq!(
        validate(&pod_create(&spec), &replace_existing()).mutated(),
        None
    );
    let mut windows = spec.clone();
    windows["os"] = json!({"name": "windows"});
    assert_eq!(
        validate(&pod_of_a_controller(&windows), &replace_existing()).mutated(),
        None
    );
}

/// An image volume is guarded if only app containers mount it. It would become guarded if the check
/// that mounts it were removed.
#[test]
fn a_check_that_mounts_an_image_volume_stays() {
    let data = json!([{"name": "data", "mountPath": "/data"}]);
    let spec = json!({
        "initContainers": [
            container("init", "i:1", "IfNotPresent"),
            with_mounts(container("imagecheck-0", "a:1", "IfNotPresent"), data.clone()),
            container("imagecheck-1", "b:1", "IfNotPresent"),
        ],
        "containers": [with_mounts(container("a", "a:1", "IfNotPresent"), data)],
        "volumes": [volume("data", "d:1", "Always")],
    });
    let after = repaired_spec(&pod_of_a_controller(&spec), &replace_existing());
    assert_eq!(after["initContainers"][1], spec["initContainers"][1]);
    assert_eq!(after["initContainers"].as_array().map(Vec::len), Some(2));
}

/// Otherwise their order would change, and *weak-check* raises the first one.
#[test]
fn all_checks_of_an_image_stay_if_one_of_them_has_to_stay() {
    let data = json!([{"name": "data", "mountPath": "/data"}]);
    let spec = json!({
        "initContainers": [
            container("init", "i:1", "IfNotPresent"),
            container("imagecheck-0", "app", "Always"),
            with_mounts(container("imagecheck-1", "app", "Always"), data),
            container("imagecheck-2", "b:1", "IfNotPresent"),
        ],
        "containers": [container("a", "app", "Always")],
        "volumes": [volume("data", "d:1", "IfNotPresent")],
    });
    let mut settings = replace_existing();
    settings["pullOnce"] = json!(false);
    settings["defaults"] = json!({"imageCheckPullPolicy": "IfNotPresent"});
    let after = repaired_spec(&pod_of_a_controller(&spec), &settings);
    assert_eq!(after["initContainers"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_record_has_a_replaced_check_as_it_was_in_the_request() {
    let spec = json!({
        "initContainers": [container("init", "i:1", "Always"), container("imagecheck-0", "a:1", "Never")],
        "containers": [container("a", "a:1", "IfNotPresent")],
    });
    let mut settings = replace_existing();
    settings["recordChanges"] = json!(true);
    let answer = validate(&pod_of_a_controller(&spec), &settings);
    assert_eq!(
        answer.audited("changes"),
        [
            json!({
                "path": "spec.initContainers[1]",
                "container": "imagecheck-0",
                "from": {"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Never"},
                "to": null,
                "rule": "replace-check",
            }),
            json!({
                "path": "spec.volumes[0]",
                "container": "imagecheck-0",
                "from": null,
                "to": volume("imagecheck-0", "a:1", "IfNotPresent"),
                "rule": "replace-check",
            }),
        ]
    );
    assert_eq!(answer.audited("findings")[0]["rule"], "weak-check");
}

/// They move in the order of their names. A volume that the new carrier already mounts is not
/// mounted again.
#[test]
fn check_volumes_that_a_replaced_check_mounts_move_to_the_new_carrier() {
    let (first, second, new) = (
        mount("imagecheck-v"),
        mount("imagecheck-w"),
        mount("imagecheck-0"),
    );
    for (had, has) in [
        (json!([]), json!([new, first, second])),
        (json!([first]), json!([first, new, second])),
    ] {
        let init = container("init", "i:1", "IfNotPresent");
        let check = container("imagecheck-0", "a:1", "Always");
        let spec = json!({
            "initContainers": [with_mounts(init.clone(), had), with_mounts(check, json!([second, first]))],
            "containers": [
                container("a", "a:1", "IfNotPresent"),
                container("b", "b:1", "IfNotPresent"),
            ],
            "volumes": [
                volume("imagecheck-v", "b:1", "Always"),
                volume("imagecheck-w", "b:1", "Always"),
            ],
        });
        let after = repaired_spec(&pod_of_a_controller(&spec), &replace_existing());
        assert_eq!(after["initContainers"], json!([with_mounts(init, has)]));
    }
}
