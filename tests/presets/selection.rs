//! Which Pods, Jobs and `CronJobs` a preset selects, and what the label
//! `consistent-pull-policy/ignore` excludes.

use consistent_pull_policy_promises::repository::{documents, text};
use consistent_pull_policy_survey::{AdmissionRequest, is_selected};
use serde_json::{Value, json};

use super::admission::{namespace, selects};
use super::{is_for_agent_stack, presets};

const LABEL: &str = "consistent-pull-policy/ignore";

/// The request that creates an object of this resource with these metadata, and with these labels
/// in its pod template.
fn create(resource: &str, metadata: &Value, template: &Value) -> Value {
    let group = if resource == "pods" { "" } else { "batch" };
    let template = json!({"template": {"metadata": {"labels": template}}});
    json!({
        "operation": "CREATE",
        "resource": {"group": group, "version": "v1", "resource": resource},
        "object": {"metadata": metadata, "spec": match resource {
            "cronjobs" => json!({"jobTemplate": {"spec": template}}),
            "jobs" => template,
            _ => json!({}),
        }},
    })
}

/// The metadata of a Pod with this owner: its version, its kind, and whether it is the controller.
fn owned_by((version, kind, is_controller): (&str, &str, bool)) -> Value {
    json!({"ownerReferences": [
        {"apiVersion": version, "kind": kind, "name": "x", "uid": "x", "controller": is_controller}
    ]})
}

#[test]
fn jobs_selects_the_jobs_that_nobody_watches_and_their_pods() {
    let mut presets = presets().into_iter();
    let policy = presets.find(|one| one.name == "jobs").expect("jobs").policy;
    let selected = |resource, labels: &Value| {
        selects(
            &policy,
            &create(resource, &json!({"labels": labels}), &json!({})),
        )
    };
    let of_a_job = json!({"batch.kubernetes.io/job-name": "job"});
    assert!(selected("jobs", &json!({})));
    assert!(selected("cronjobs", &json!({})));
    assert!(selected("pods", &of_a_job));
    assert!(!selected("pods", &json!({"app": "web"})));
    assert!(!selected("pods", &Value::Null));
    for (label, value) in [
        ("buildkite.com/job-uuid", "x"),
        ("kubernetes_pod_operator", "True"),
        ("kubernetes-job-runner-instance-id", "x"),
        ("imagecache", "x"),
        ("app.kubernetes.io/name", "image-puller"),
    ] {
        let mut labels = of_a_job.clone();
        labels[label] = json!(value);
        for resource in ["pods", "jobs", "cronjobs"] {
            assert!(!selected(resource, &labels), "{resource} {label}");
        }
    }
}

/// Of a Job's Pod, the Job was asked. A Pod of the others has to come back after a drain.
#[test]
fn missing_tags_selects_what_somebody_creates_in_namespaces_with_its_label() {
    let mut presets = presets().into_iter();
    let preset = presets.find(|preset| preset.name == "missing-tags");
    let policy = preset.expect("missing-tags").policy;
    let selected =
        |resource, metadata: &Value| selects(&policy, &create(resource, metadata, &json!({})));
    for resource in ["pods", "jobs", "cronjobs"] {
        assert!(selected(resource, &json!({})), "{resource}");
        let request = create(resource, &json!({}), &json!({}));
        let unlabelled = json!({"kubernetes.io/metadata.name": "default"});
        assert!(
            !policy.selects(&AdmissionRequest::new(&request, &unlabelled)),
            "{resource}"
        );
    }
    for (owner, is_selected) in [
        (("tekton.dev/v1", "TaskRun", true), true),
        (("v1", "Node", false), true),
        (("batch/v1", "Job", false), true),
        (("batch/v1", "Job", true), false),
        (("apps/v1", "ReplicaSet", true), false),
        (("apps/v1", "StatefulSet", true), false),
        (("apps/v1", "DaemonSet", true), false),
        (("v1", "ReplicationController", true), false),
    ] {
        assert_eq!(selected("pods", &owned_by(owner)), is_selected, "{owner:?}");
    }
}

/// What the label on an object excludes: nothing of an audit, which an incident shouldn't blind, and
/// nothing of multi-tenant, where a tenant could use it.
#[test]
fn the_label_excludes_a_namespace_and_an_object_and_in_a_pod_template_both() {
    let ignored = json!({LABEL: ""});
    for preset in presets() {
        let policy = &preset.policy;
        let name = &preset.name;
        let has_jobs = ["jobs", "missing-tags"].contains(&&**name);
        let resources: &[&str] = if has_jobs {
            &["pods", "jobs", "cronjobs"]
        } else {
            &["pods"]
        };
        let mut labels = json!({"batch.kubernetes.io/job-name": "job"});
        if is_for_agent_stack(&preset) {
            labels["buildkite.com/job-uuid"] = json!("x");
        }
        let mut with_label = labels.clone();
        with_label[LABEL] = json!("");
        for resource in resources {
            let none = json!({});
            let request = |labels: &Value, template: &Value| {
                create(resource, &json!({"labels": labels}), template)
            };
            let plain = request(&labels, &none);
            assert!(selects(policy, &plain), "{name} {resource}");

            let mut namespace = namespace("default");
            namespace[LABEL] = json!("");
            let request_there = AdmissionRequest::new(&plain, &namespace);
            assert_eq!(
                policy.selects(&request_there),
                policy.is_audit,
                "{name} {resource}"
            );

            let object = selects(policy, &request(&with_label, &none));
            let is_kept = policy.is_audit || name == "multi-tenant";
            assert_eq!(object, is_kept, "{name} {resource}");

            if *resource != "pods" {
                assert!(
                    !selects(policy, &request(&labels, &ignored)),
                    "{name} {resource}"
                );
            }
        }
    }
    let beside = documents(&text("examples/beside/without-kubewarden.yaml"));
    let constraints = &beside[0]["spec"]["matchConstraints"];
    for selector in ["namespaceSelector", "objectSelector"] {
        assert!(
            is_selected(&constraints[selector], &json!({})),
            "{selector}"
        );
        assert!(!is_selected(&constraints[selector], &ignored), "{selector}");
    }
}

/// A node that pulls by digest lacks the tag.
#[test]
fn the_presets_that_pin_exclude_whoever_pulls_images_beforehand() {
    let pre_pull = documents(&text("examples/beside/pre-pull.yaml")).remove(0);
    for labels in [
        pre_pull["spec"]["template"]["metadata"]["labels"].clone(),
        // The DaemonSets of JupyterHub's chart.
        json!({"component": "hook-image-puller"}),
        json!({"component": "continuous-image-puller"}),
        // kube-fledged's Jobs, of its first version and of 0.10.
        json!({"batch.kubernetes.io/job-name": "x", "app": "imagecache", "imagecache": "x"}),
        json!({"batch.kubernetes.io/job-name": "x", "kubefledged": "kubefledged-image-manager", "imagecache": "x"}),
    ] {
        let request = create("pods", &json!({"labels": labels}), &json!({}));
        for preset in presets() {
            let lookup = preset.settings()["registry"]["lookup"].as_str();
            if lookup.is_some_and(|lookup| lookup.starts_with("Pin")) {
                assert!(
                    !selects(&preset.policy, &request),
                    "{}: {labels}",
                    preset.name
                );
            }
        }
    }
}
