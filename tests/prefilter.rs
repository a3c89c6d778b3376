//! Tests of the `matchConditions` in examples/prefilter.yaml. The API server doesn't send the
//! requests that these conditions exclude. The conditions may exclude only requests that this
//! policy would accept unchanged.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::validate;
use cel::{Context, Env};
use serde_json::{Value, json};

/// The two `matchConditions` of the example: for Pods, and for pod templates.
pub(crate) fn match_conditions() -> [String; 2] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/prefilter.yaml");
    let text = fs::read_to_string(&path).expect("the example");
    let manifest: Value = yaml_serde::from_str(&text).expect("the example is YAML");
    let conditions = manifest["spec"]["matchConditions"].as_array();
    let [pods, pod_templates] = &conditions.expect("conditions")[..] else {
        panic!("two conditions");
    };
    [pods, pod_templates]
        .map(|condition| condition["expression"].as_str().expect("text").to_owned())
}

/// Whether the API server sends the request to this policy. It does so if all conditions are true.
fn sends(request: &Value) -> bool {
    let env = Arc::new(Env::stdlib());
    match_conditions().iter().all(|text| {
        let program = env.compile(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut context = Context::with_env(Arc::clone(&env));
        for name in ["object", "oldObject"] {
            let value = cel::to_value(&request[name]).expect("a value");
            context.add_variable(name, value).expect("a variable");
        }
        let value = cel::to_value(request).expect("a value");
        context.add_variable("request", value).expect("a variable");
        match program.execute(&context) {
            Ok(cel::Value::Bool(met)) => met,
            other => panic!("{other:?} for {request}"),
        }
    })
}

/// Whether this policy accepts the request unchanged and without a warning, with the default settings and
/// with settings that turn many rules on.
fn is_untouched(request: &Value) -> bool {
    let strict = |mode: &str| {
        json!({
            "mode": mode,
            "templates": "Enforce",
            "imageChecks": {"coverage": "Fix"},
            "defaults": {"imagePullPolicy": "AlwaysUnlessDigest"},
            "images": {"requireAlways": ["quay.io/*"], "forbidAlways": ["docker.io/*"]},
        })
    };
    let settings = [json!({}), strict("Fix"), strict("Reject"), strict("Warn")];
    settings.iter().all(|settings| {
        let answer = validate(request, settings);
        answer["accepted"] == true
            && answer["mutated_object"].is_null()
            && answer["warnings"].is_null()
    })
}

/// The UPDATE of an object of this kind. Its Pod spec is at `path`, and its labels change too.
fn update(kind: &str, path: &str, stored: &Value, requested: &Value) -> Value {
    let group = match kind {
        "Pod" | "PodTemplate" | "ReplicationController" => "",
        "Job" | "CronJob" => "batch",
        _ => "apps",
    };
    let object = |spec: &Value, labels: Value| {
        let keys = path.split('.').rev();
        let mut object = keys.fold(spec.clone(), |inner, key| json!({ key: inner }));
        object["metadata"] = json!({"name": "x", "labels": labels});
        object
    };
    json!({
        "kind": {"group": group, "version": "v1", "kind": kind},
        "operation": "UPDATE",
        "oldObject": object(stored, json!({})),
        "object": object(requested, json!({"changed": "yes"})),
    })
}

#[test]
fn an_update_is_sent_exactly_if_it_can_concern_this_policy() {
    let container = json!({"name": "a", "image": "a:1", "imagePullPolicy": "Always"});
    let stored = json!({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]});
    // Each row has a change of the Pod spec, whether the API server sends this UPDATE of a Pod, and whether
    // it sends this UPDATE of a workload.
    for (key, value, of_a_pod, of_a_workload) in [
        ("containers", json!([container]), false, false),
        (
            "containers",
            json!([{"name": "a", "image": "a:2", "imagePullPolicy": "Always"}]),
            true,
            true,
        ),
        (
            "containers",
            json!([{"name": "a", "image": "a:1", "imagePullPolicy": "Never"}]),
            true,
            true,
        ),
        (
            "initContainers",
            json!([{"name": "b", "image": "b:1"}]),
            true,
            true,
        ),
        (
            "ephemeralContainers",
            json!([{"name": "b", "image": "b:1"}]),
            true,
            true,
        ),
        (
            "volumes",
            json!([{"name": "v", "image": {"reference": "v:1"}}]),
            true,
            true,
        ),
        (
            "volumes",
            json!([{"name": "w", "emptyDir": {}}]),
            false,
            true,
        ),
        ("terminationGracePeriodSeconds", json!(7), false, true),
    ] {
        let mut requested = stored.clone();
        requested[key] = value;
        for (kind, path) in [
            ("Pod", "spec"),
            ("PodTemplate", "template.spec"),
            ("CronJob", "spec.jobTemplate.spec.template.spec"),
            ("Job", "spec.template.spec"),
            ("Deployment", "spec.template.spec"),
            ("StatefulSet", "spec.template.spec"),
            ("DaemonSet", "spec.template.spec"),
            ("ReplicaSet", "spec.template.spec"),
            ("ReplicationController", "spec.template.spec"),
        ] {
            let request = update(kind, path, &stored, &requested);
            let expected = if kind == "Pod" {
                of_a_pod
            } else {
                of_a_workload
            };
            assert_eq!(sends(&request), expected, "{kind}: {requested}");
            assert!(expected || is_untouched(&request), "{kind}: {requested}");
        }
    }
    // A ReplicationController may have no template.
    let scaled = update(
        "ReplicationController",
        "spec.replicas",
        &json!(1),
        &json!(2),
    );
    assert!(!sends(&scaled));
}
