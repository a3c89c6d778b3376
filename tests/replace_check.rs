//! The rule *replace-check*: checks that stay init containers. The tests that compare this policy
//! with the specification generate some of these checks only rarely, so they have a test of their own.

use crate::common::{Answer, container, pod_create, validate};
use serde_json::{Value, json};

/// The answer for a Pod that has a controller.
fn validate_with_controller(spec: &Value) -> Answer {
    let mut request = pod_create(spec);
    request["object"]["metadata"]["ownerReferences"] = json!([{"controller": true}]);
    let checks = json!({"as": "ImageVolume", "replaceExisting": true, "coverage": "Off"});
    validate(&request, &json!({"imageChecks": checks}))
}

#[test]
fn a_check_that_cannot_become_a_volume_stays() {
    let long = format!("imagecheck-{}", "x".repeat(60));
    let mut sidecar = container("imagecheck-9", "s:1", "Always");
    sidecar["restartPolicy"] = json!("Always");
    let mut carrier = container("init", "i:1", "IfNotPresent");
    carrier["volumeMounts"] = json!([{"name": "x", "mountPath": "/.imagecheck/imagecheck-1"}]);
    let answer = validate_with_controller(&json!({
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
    }));
    let spec = &answer.mutated().expect("a repair")["spec"];
    let inits = spec["initContainers"].as_array().expect("a list").iter();
    let names: Vec<&Value> = inits.map(|init| &init["name"]).collect();
    let stay = [
        "init",
        "imagecheck-0",
        "imagecheck-1",
        &long,
        "imagecheck-9",
    ];
    assert_eq!(names, stay);
    assert_eq!(spec["volumes"][2]["name"], "imagecheck-2");
}

/// `imagecheck-0` mounts `imagecheck-1`. If `imagecheck-0` becomes a volume, `i` mounts both.
#[test]
fn a_check_stays_if_the_new_carrier_already_has_a_mount_at_the_path_of_its_check_volume() {
    let mount = |name: &str| json!([{"name": name, "mountPath": "/.imagecheck/imagecheck-1"}]);
    for (mounts, moved) in [(json!([]), Some("imagecheck-1")), (mount("e"), None)] {
        let answer = validate_with_controller(&json!({
            "initContainers": [
                {"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Always", "volumeMounts": mount("imagecheck-1")},
                {"name": "i", "image": "x:1", "imagePullPolicy": "IfNotPresent", "volumeMounts": mounts},
            ],
            "containers": [container("a", "a:1", "IfNotPresent"), container("b", "b:1", "IfNotPresent")],
            "volumes": [{"name": "imagecheck-1", "image": {"reference": "b:1", "pullPolicy": "Always"}}, {"name": "e", "emptyDir": {}}],
        }));
        let init = &answer.0["mutated_object"]["spec"]["initContainers"][0];
        assert_eq!(init["volumeMounts"][1]["name"].as_str(), moved);
    }
}
