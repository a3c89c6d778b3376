//! jobs.yaml: which Pods, Jobs and `CronJobs` it selects, what it does without lookups, and the files
//! beside it that are no policies.

use consistent_pull_policy_promises::repository::{documents, text};
use consistent_pull_policy_survey::{AdmissionPolicy, is_selected};
use serde_json::{Value, json};

use super::admission::{admit, selects};
use super::{corpus, is_for_one_controller, pins, policies, policy};

/// The request that creates an object with these labels.
fn create(resource: &str, labels: &Value) -> Value {
    let group = if resource == "pods" { "" } else { "batch" };
    json!({
        "operation": "CREATE",
        "resource": {"group": group, "version": "v1", "resource": resource},
        "object": {"metadata": {"labels": labels}},
    })
}

#[test]
fn it_selects_the_jobs_that_nobody_watches_and_their_pods() {
    let policy = policy("jobs");
    let of_a_job = json!({"batch.kubernetes.io/job-name": "job"});
    for (resource, labels, is_selected) in [
        ("jobs", &json!({}), true),
        ("cronjobs", &json!({}), true),
        ("pods", &of_a_job, true),
        ("pods", &json!({"app": "web"}), false),
        ("pods", &json!({}), false),
    ] {
        let request = create(resource, labels);
        assert_eq!(selects(&policy, &request), is_selected, "{request}");
    }
    for (label, value) in [
        ("buildkite.com/job-uuid", "x"),
        ("kubernetes_pod_operator", "True"),
        ("kubernetes-job-runner-instance-id", "x"),
        ("kubefledged", "kubefledged-image-manager"),
        ("app.kubernetes.io/name", "image-puller"),
    ] {
        let mut labels = of_a_job.clone();
        labels[label] = json!(value);
        for resource in ["pods", "jobs", "cronjobs"] {
            assert!(
                !selects(&policy, &create(resource, &labels)),
                "{resource} {label}"
            );
        }
    }
}

/// Somebody whose registries can't be asked keeps the checks, and nothing else.
#[test]
fn without_lookups_its_pods_get_the_same_checks_and_no_digest() {
    let mut without_lookups = policy("jobs");
    without_lookups.spec["settings"]["registry"]["lookup"] = json!("Off");
    let mut checks_alone = policy("jobs");
    checks_alone.spec["settings"] = json!({
        "mode": "Fix",
        "imageChecks": {"onMissing": "Add", "podsWithoutChecks": true, "type": "ImageVolume"},
        "exempt": without_lookups.spec["settings"]["exempt"],
    });
    let mut repaired = 0;
    for request in corpus::requests() {
        if request["resource"]["resource"] != "pods" || !selects(&without_lookups, &request) {
            continue;
        }
        let outcome = |policy: &AdmissionPolicy| admit(&[policy], &request, None);
        let expected = outcome(&checks_alone);
        assert_eq!(outcome(&without_lookups), expected);
        repaired += usize::from(expected.is_ok_and(|pod| pod != request["object"]));
    }
    assert!(repaired > 5, "{repaired}");
}

fn file(name: &str) -> Value {
    documents(&text(&format!("examples/{name}.yaml"))).remove(0)
}

/// A node that pulls by digest lacks the tag, for which pre-pull.yaml is.
#[test]
fn the_files_that_pin_leave_the_pods_of_pre_pull_out() {
    let labels = &file("pre-pull")["spec"]["template"]["metadata"]["labels"];
    let mut count = 0;
    for policy in policies() {
        if pins(&policy.spec["settings"]) && !is_for_one_controller(&policy) {
            count += 1;
            assert!(
                !is_selected(&policy.spec["objectSelector"], labels),
                "{}",
                policy.name
            );
        }
    }
    assert_eq!(count, 3);
}

/// The descheduler ends a Pod that has done half of its work, too. So it gets the Pods alone whose
/// work jobs.yaml holds up.
#[test]
fn the_descheduler_ends_the_pods_that_jobs_selects() {
    let values = file("descheduler-values");
    let arguments = |plugin: &str| {
        let plugins = values["deschedulerPolicy"]["profiles"][0]["pluginConfig"].as_array();
        let mut plugins = plugins.expect("plugins").iter();
        let found = plugins.find(|config| config["name"] == plugin);
        found.expect(plugin)["args"].clone()
    };
    let spec = policy("jobs").spec;
    assert_eq!(
        arguments("DefaultEvictor")["namespaceLabelSelector"],
        spec["namespaceSelector"]
    );
    let mut pods = spec["objectSelector"]["matchExpressions"].clone();
    let of_a_job = json!({"key": "batch.kubernetes.io/job-name", "operator": "Exists"});
    pods.as_array_mut()
        .expect("expressions")
        .insert(0, of_a_job);
    assert_eq!(
        arguments("PodLifeTime")["labelSelector"],
        json!({"matchExpressions": pods})
    );
}
