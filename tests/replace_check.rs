//! The rule *replace-check*: checks that stay init containers. The tests that compare this policy
//! with the specification generate some of these checks only rarely, so they have a test of their own.

mod common;

use common::{container, pod_create, validate};
use serde_json::{Value, json};

#[test]
fn a_check_that_cannot_become_a_volume_stays() {
    let long = format!("imagecheck-{}", "x".repeat(60));
    let mut sidecar = container("imagecheck-9", "s:1", "Always");
    sidecar["restartPolicy"] = json!("Always");
    let mut carrier = container("init", "i:1", "IfNotPresent");
    carrier["volumeMounts"] = json!([{"name": "x", "mountPath": "/.imagecheck/imagecheck-1"}]);
    let mut request = pod_create(&json!({
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
    request["object"]["metadata"]["ownerReferences"] = json!([{"controller": true}]);
    let checks = json!({"as": "ImageVolume", "replaceExisting": true, "coverage": "Off"});
    let answer = validate(&request, &json!({"imageChecks": checks}));
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
