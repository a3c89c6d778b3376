//! Tests of the `matchConditions` in examples/prefilter.yaml. The API server doesn't send the
//! requests that these conditions exclude. The conditions may exclude only requests that this
//! policy would accept unchanged.
//!
//! `cargo test --test policy prefilter -- --nocapture` prints how many captured requests the conditions
//! exclude.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::cel::Expression;
use crate::common::{captured, validate};
use cel::Env;
use serde_json::{Value, json};

/// The `matchConditions` of a manifest. The API server sends a request if it meets all conditions.
struct Prefilter {
    conditions: Vec<Expression>,
}

impl Prefilter {
    fn of_example() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/prefilter.yaml");
        let text = fs::read_to_string(&path).expect("the example");
        let manifest: Value = yaml_serde::from_str(&text).expect("the example is YAML");
        let env = Arc::new(Env::stdlib());
        let conditions: Vec<Expression> = manifest["spec"]["matchConditions"]
            .as_array()
            .expect("matchConditions")
            .iter()
            .map(|condition| Expression::new(&env, condition["expression"].as_str().expect("text")))
            .collect();
        assert_eq!(conditions.len(), 2);
        Self { conditions }
    }

    /// Whether the API server sends the request to this policy.
    fn sends(&self, request: &Value) -> bool {
        self.conditions
            .iter()
            .all(|condition| match condition.evaluate(request) {
                cel::Value::Bool(met) => met,
                other => panic!("{other:?} for {request}"),
            })
    }
}

/// The default settings, and settings that turn many rules on, in each mode.
fn strict_settings() -> [Value; 4] {
    let every_rule = json!({
        "templates": "Enforce",
        "imageChecks": {"coverage": "Fix"},
        "defaults": {"imagePullPolicy": "AlwaysUnlessDigest"},
        "images": {"requireAlways": ["quay.io/*"], "forbidAlways": ["docker.io/*"]},
    });
    let in_mode = |mode: &str| {
        let mut settings = every_rule.clone();
        settings["mode"] = json!(mode);
        settings
    };
    [
        json!({}),
        in_mode("Fix"),
        in_mode("Reject"),
        in_mode("Warn"),
    ]
}

/// All captured requests, with their names.
fn every_captured() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_data/reviews");
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the reviews")
        .map(|file| file.expect("a file").path())
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let request = captured(&name);
            (name, request)
        })
        .collect()
}

/// Whether this policy accepts the request unchanged and without a warning.
fn untouched(request: &Value, settings: &Value) -> bool {
    let answer = validate(request, settings);
    answer.accepted() && answer.mutated().is_none() && answer.warnings().is_empty()
}

#[test]
fn excluded_requests_would_be_accepted_unchanged() {
    let prefilter = Prefilter::of_example();
    let mut excluded = Vec::new();
    let (mut all, mut updates) = (0, 0);
    for (name, request) in every_captured() {
        all += 1;
        updates += usize::from(request["operation"] == "UPDATE");
        if prefilter.sends(&request) {
            continue;
        }
        for settings in &strict_settings() {
            assert!(untouched(&request, settings), "{name} under {settings}");
        }
        excluded.push(name);
    }
    println!(
        "{} of {updates} UPDATEs are excluded, of {all} captured requests: {excluded:?}",
        excluded.len()
    );
    assert_eq!(excluded, ["pod-resize-update", "pod-update-label"]);
}

/// A manifest that is applied again has its author's pull policies. This policy has to restore the
/// stored pull policies. Otherwise the API server answers 422 for a Pod or a Job.
#[test]
fn a_manifest_that_is_applied_once_more_is_sent() {
    let prefilter = Prefilter::of_example();
    for name in [
        "reapply-pod",
        "reapply-job-client-side",
        "reapply-job-server-side",
        "reapply-deployment-image-changed",
        "pod-update-image",
        "pod-ephemeralcontainers-update",
    ] {
        assert!(prefilter.sends(&captured(name)), "{name}");
    }
}

/// The UPDATE request that changes a created object.
fn update(created: &Value, edit: impl Fn(&mut Value)) -> Value {
    let mut request = created.clone();
    request["operation"] = json!("UPDATE");
    request["oldObject"] = created["object"].clone();
    edit(&mut request["object"]);
    request
}

/// The path of the Pod spec in an object of this kind.
fn pod_spec(kind: &str) -> &'static str {
    match kind {
        "Pod" => "/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    }
}

type Edit = fn(&mut Value);

/// For each captured CREATE, the test makes UPDATEs that concern this policy and UPDATEs that
/// don't.
#[test]
fn an_update_is_sent_exactly_if_it_can_concern_this_policy() {
    let prefilter = Prefilter::of_example();
    // Each entry has a change of the Pod spec, whether the API server sends this UPDATE of a Pod,
    // and whether it sends this UPDATE of an object with a pod template.
    let edits: [(&str, Edit, bool, bool); 7] = [
        ("nothing", |_| (), false, false),
        (
            "an image",
            |spec| spec["containers"][0]["image"] = json!("other:v2"),
            true,
            true,
        ),
        (
            "a pull policy",
            |spec| spec["containers"][0]["imagePullPolicy"] = json!("Never"),
            true,
            true,
        ),
        (
            "an added init container",
            |spec| {
                let checks = json!([{"name": "imagecheck-9", "image": "app:v1"}]);
                match spec["initContainers"].as_array_mut() {
                    Some(list) => list.extend(checks.as_array().expect("a list").clone()),
                    None => spec["initContainers"] = checks,
                }
            },
            true,
            true,
        ),
        (
            "an image volume",
            |spec| {
                let volume = json!({"name": "models", "image": {"reference": "models:v1"}});
                match spec["volumes"].as_array_mut() {
                    Some(list) => list.push(volume),
                    None => spec["volumes"] = json!([volume]),
                }
            },
            true,
            true,
        ),
        (
            "another volume",
            |spec| {
                let volume = json!({"name": "scratch", "emptyDir": {}});
                match spec["volumes"].as_array_mut() {
                    Some(list) => list.push(volume),
                    None => spec["volumes"] = json!([volume]),
                }
            },
            false,
            true,
        ),
        (
            "a grace period",
            |spec| spec["terminationGracePeriodSeconds"] = json!(7),
            false,
            true,
        ),
    ];
    let mut kinds = Vec::new();
    for (name, created) in every_captured() {
        if created["operation"] != "CREATE" {
            continue;
        }
        let kind = created["kind"]["kind"].as_str().expect("a kind");
        kinds.push(kind.to_owned());
        for (what, edit, sent_for_a_pod, sent_for_a_template) in edits {
            let request = update(&created, |object| {
                // A label changes too. The conditions ignore labels.
                object["metadata"]["labels"] = json!({"changed": "yes"});
                edit(object.pointer_mut(pod_spec(kind)).expect("a Pod spec"));
            });
            let expected = if kind == "Pod" {
                sent_for_a_pod
            } else {
                sent_for_a_template
            };
            let sent = prefilter.sends(&request);
            assert_eq!(sent, expected, "{name}: {what}");
            if !sent {
                for settings in &strict_settings() {
                    assert!(untouched(&request, settings), "{name}: {what}: {settings}");
                }
            }
        }
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "CronJob",
            "DaemonSet",
            "Deployment",
            "Job",
            "Pod",
            "ReplicaSet",
            "ReplicationController",
            "StatefulSet"
        ]
    );
}

/// A `PodTemplate` has its template at the top level. No captured request has a `PodTemplate`, so this
/// test makes one.
#[test]
fn pod_templates_at_other_paths_are_compared_too() {
    let prefilter = Prefilter::of_example();
    let template = json!({"spec": {"containers": [{"name": "a", "image": "a:v1"}]}});
    let created = json!({
        "kind": {"group": "", "version": "v1", "kind": "PodTemplate"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "t"}, "template": template},
    });
    assert!(prefilter.sends(&created));
    assert!(!prefilter.sends(&update(&created, |object| {
        object["metadata"]["labels"] = json!({"changed": "yes"});
    })));
    assert!(prefilter.sends(&update(&created, |object| {
        object["template"]["spec"]["containers"][0]["image"] = json!("a:v2");
    })));
    // A ReplicationController may have no template.
    let mut controller = created.clone();
    controller["kind"]["kind"] = json!("ReplicationController");
    controller["object"] = json!({"metadata": {"name": "t"}, "spec": {"replicas": 1}});
    assert!(!prefilter.sends(&update(&controller, |_| ())));
    assert!(prefilter.sends(&update(&controller, |object| {
        object["spec"]["template"] = template.clone();
    })));
}
