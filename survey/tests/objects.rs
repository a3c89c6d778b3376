//! Objects: the Pods of workloads, the undoing of repairs, and the grouping.

use std::collections::BTreeSet;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::captured;
use consistent_pull_policy_survey::{Fate, Outcome, Survey, answer_during, first_pod};
use serde_json::{Value, json};

use crate::{corpus, surveyed};

/// What this policy and selectors read of a Pod, without the names that a cluster generates.
fn read_of(pod: &Value) -> Value {
    let list = |name: &str| -> Vec<Value> {
        let entries = pod["spec"][name].as_array().into_iter().flatten();
        entries
            .map(|entry| json!([entry["name"], entry["image"], entry["imagePullPolicy"]]))
            .filter(|entry| {
                !entry[0]
                    .as_str()
                    .unwrap_or_default()
                    .starts_with("kube-api-access-")
            })
            .collect()
    };
    let labels = pod["metadata"]["labels"].as_object().expect("labels");
    let owner = &pod["metadata"]["ownerReferences"][0];
    json!([
        labels.keys().collect::<Vec<_>>(),
        [&owner["kind"], &owner["apiVersion"]],
        pod["metadata"]
            .get("annotations")
            .into_iter()
            .collect::<Vec<_>>(),
        (["initContainers", "containers", "volumes"].map(list)),
    ])
}

#[test]
fn the_pod_of_a_workload_is_the_one_that_its_controller_created() {
    for (workload, pod) in [
        ("job-create", "pod-create-by-job"),
        ("statefulset-create", "pod-create-by-statefulset"),
        (
            "replicaset-create-by-deployment",
            "pod-create-by-replicaset",
        ),
        ("deployment-create", "pod-create-by-replicaset"),
        (
            "agent-stack-0.47-real-weak-checks-job-create",
            "agent-stack-0.47-real-weak-checks-pod-create",
        ),
        (
            "agent-stack-0.47-real-step-image-job-create",
            "agent-stack-0.47-real-step-image-pod-create",
        ),
    ] {
        let made = first_pod(&captured(workload)["object"]).expect(workload);
        assert_eq!(
            read_of(&made),
            read_of(&captured(pod)["object"]),
            "{workload}"
        );
    }
    assert_eq!(first_pod(&captured("pod-create")["object"]), None);
    let mut stateful_set = captured("statefulset-create")["object"].take();
    stateful_set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
    let made = first_pod(&stateful_set).expect("a Pod");
    assert_eq!(made["spec"]["volumes"][1], json!({"name": "data"}));
    let mut job = captured("job-create")["object"].take();
    job["spec"]["manualSelector"] = true.into();
    let labels = json!({"app": "x"});
    job["spec"]["template"]["metadata"]["labels"] = labels.clone();
    assert_eq!(
        first_pod(&job).expect("a Pod")["metadata"]["labels"],
        labels
    );
}

/// The rows without what a name tells.
fn effects(survey: &Survey) -> BTreeSet<String> {
    let presets = survey.presets();
    let rows = survey.rows().iter().map(|row| {
        let effects = presets.iter().zip(&row.results).filter(|(preset, _)| {
            // An audit looks at the stored Pod.
            !preset.policy.is_audit
        });
        let effects: Vec<_> = effects.map(|(_, effect)| effect).collect();
        json!([row.name, row.images, row.before, effects]).to_string()
    });
    rows.collect()
}

/// The survey undoes what a Pod's record names, so a cluster in which this policy runs already gets
/// the same rows.
#[test]
fn a_cluster_with_repaired_pods_gets_the_same_rows() {
    // With a Pod that gets check volumes.
    let labels = json!({"batch.kubernetes.io/job-name": "x"});
    let other = r#""containers":[{"image":"b:1","name":"b"},"#;
    let of_job = pod("x", &labels, "a:1", Some(("Job", "x"))).replace(r#""containers":["#, other);
    let corpus = corpus() + "\n---\n" + &of_job;
    let before = surveyed(&corpus, json!({}));
    let reported = |survey: &Survey| {
        let audit = survey
            .report()
            .presets
            .into_iter()
            .find(|line| line.is_audit);
        audit.expect("the audit").reported
    };
    let (mut repaired, mut fewer) = (0, 0);
    for (index, preset) in before.presets().iter().enumerate() {
        let is_changed = |row: &consistent_pull_policy_survey::Row| {
            row.results[index]
                .as_ref()
                .is_some_and(|effect| effect.outcome == Outcome::Changed)
        };
        if !before.rows().iter().any(is_changed) {
            continue;
        }
        let mut survey = surveyed(&corpus, json!({}));
        let mut objects = String::new();
        for row in 0..survey.rows().len() {
            let detail = survey
                .detail(row, &preset.name, &mut Native)
                .expect("a detail");
            let answer = answer_during(&detail.request, &detail.settings, None, &mut Native);
            let answer = answer.expect("an answer");
            let object = match &answer["mutated_object"] {
                Value::Null => detail.request["object"].clone(),
                object => {
                    repaired += 1;
                    object.clone()
                }
            };
            objects += &object.to_string();
        }
        let after = surveyed(&objects, json!({}));
        assert_eq!(effects(&after), effects(&before), "{}", preset.name);
        // An audit reads the stored Pods.
        fewer += usize::from(reported(&after) < reported(&before));
    }
    assert!(repaired > 30 && fewer > 2, "{repaired} {fewer}");
}

pub(crate) fn pod(name: &str, labels: &Value, image: &str, owner: Option<(&str, &str)>) -> String {
    let owner = owner.map(|(kind, name)| json!({"apiVersion": "x/v1", "kind": kind, "name": name, "controller": true}));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "labels": labels, "ownerReferences": owner.map(|it| [it])},
        "spec": {"nodeName": format!("node-of-{name}"), "restartPolicy": "Never",
            "containers": [{"name": "app", "image": image}],
            "volumes": [{"name": format!("kube-api-access-{name}"), "projected": {}}]},
    })
    .to_string()
}

#[test]
fn the_objects_of_one_controller_are_one_row() {
    for (case, label, images, kind, owners, rows) in [
        (
            "the Pods of a ReplicaSet are their Deployment's",
            "pod-template-hash",
            ["web:1", "web:1"],
            "ReplicaSet",
            ["web-5d8", "web-5d8"],
            vec!["Deployment web 2"],
        ),
        (
            "the Jobs of a CronJob have a time in their names",
            "id",
            ["web:1", "web:1"],
            "Job",
            ["night-29919931", "night-29919932"],
            vec!["CronJob night 2"],
        ),
        (
            "a CI controller makes a Job for each step",
            "id",
            ["ci:1", "ci:1"],
            "Job",
            ["build-aaaa", "build-bbbb"],
            vec!["Job build-* 2"],
        ),
        (
            "Jobs with other images are another row",
            "id",
            ["ci:1", "ci:2"],
            "Job",
            ["build-aaaa", "build-bbbb"],
            vec!["Job build-aaaa 1", "Job build-bbbb 1"],
        ),
    ] {
        let pods = [0, 1].map(|index: usize| {
            let owner = owners[index];
            let value = owner.rsplit('-').next();
            let name = format!("{owner}-{index}");
            pod(
                &name,
                &json!({label: value}),
                images[index],
                Some((kind, owner)),
            )
        });
        let survey = surveyed(&pods.concat(), json!({}));
        let names = survey.rows().iter();
        let names: Vec<String> = names
            .map(|row| format!("{} {} {}", row.kind, row.name, row.number))
            .collect();
        assert_eq!(names, rows, "{case}");
        let unowned = pods
            .concat()
            .replace(r#""controller":true"#, r#""controller":false"#);
        let survey = surveyed(&unowned, json!({}));
        assert!(survey.rows().iter().all(|row| row.kind == "Pod"), "{case}");
    }
}

/// A CI controller invents values of labels, and names of volumes, paths and scripts. What a policy
/// compares tells Jobs apart: a label's key or value, an image, a program in a mount.
#[test]
fn what_a_controller_invents_tells_no_jobs_apart() {
    let job = |id: &str, key: &str, path: &str, image: &str| {
        let volume = format!("scripts-{id}");
        let init = json!({"name": "imagecheck-0", "image": "ci:1", "command": [format!("{path}/tini")],
            "args": [id], "volumeMounts": [{"name": volume, "mountPath": format!("/scripts-{id}")}]});
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("build-{id}"), "namespace": "ci",
                "labels": {key: id, "app": "ci"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "initContainers": [init],
                "nodeSelector": {"kubernetes.io/hostname": id},
                "containers": [{"name": "app", "image": image, "args": [id]}], "volumes": [{"name": volume, "emptyDir": {}}]}}}})
        .to_string()
    };
    let same = job("a", "buildkite.com/job-uuid", "/scripts-a", "app:1");
    let rows = |other: String| surveyed(&(same.clone() + &other), json!({})).rows().len();
    assert_eq!(
        rows(job("b", "buildkite.com/job-uuid", "/scripts-b", "app:1")),
        1
    );
    assert_eq!(rows(job("b", "step", "/scripts-b", "app:1")), 2);
    assert_eq!(
        rows(job("b", "buildkite.com/job-uuid", "/scripts-b", "app:2")),
        2
    );
    assert_eq!(
        rows(job("b", "buildkite.com/job-uuid", "/scripts-", "app:1")),
        2
    );
    // jobs excludes a Job by a label of its pod template.
    let template = r#""template":{"#;
    let label = r#""metadata":{"labels":{"consistent-pull-policy/ignore":""}},"#;
    let ignored = same.replace(template, &(template.to_owned() + label));
    assert_eq!(rows(ignored.replace("build-a", "build-b")), 2);
    // missing-tags excludes Pods of batch/v1, but not those of Volcano's Jobs.
    let of_job = |version: &str| {
        let pod = pod(version, &json!({}), "ci:1", Some(("Job", version)));
        pod.replace("x/v1", version)
    };
    let of_jobs = of_job("batch/v1") + &of_job("batch.volcano.sh/v1alpha1");
    assert_eq!(surveyed(&of_jobs, json!({})).rows().len(), 2);
    // agent-stack-k8s-volumes compares the value of a label.
    let windows = same
        .replace("kubernetes.io/hostname", "kubernetes.io/os")
        .replace(r#":"a""#, r#":"windows""#);
    assert_eq!(rows(windows.replace("build-a", "build-b")), 2);
}

#[test]
fn a_job_of_an_unknown_controller_and_its_pods_are_one_row() {
    let owner = |kind: &str, name: &str| json!([{"apiVersion": "x/v1", "kind": kind, "name": name, "uid": name, "controller": true}]);
    let spec = |image: &str| json!({"restartPolicy": "Never", "containers": [{"name": "app", "image": image}]});
    let objects = ["workers-0", "workers-1", "driver-0"].map(|name| {
        let spec = spec(&name[..3]);
        let metadata = |name: &str, owners: Value| json!({"name": name, "uid": name, "namespace": "ml", "ownerReferences": owners});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(name, owner("JobSet", "train")),
            "spec": {"template": {"spec": spec}}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(&format!("{name}-x"), owner("Job", name)), "spec": spec});
        job.to_string() + &pod.to_string()
    });
    let survey = surveyed(&objects.concat(), json!({}));
    let rows: BTreeSet<_> = survey
        .rows()
        .iter()
        .map(|row| (&*row.kind, &*row.name, row.number))
        .collect();
    assert_eq!(
        rows,
        BTreeSet::from([("JobSet", "train (dri)", 1), ("JobSet", "train (wor)", 2)])
    );
}

/// A Node has an image that it lists, and those of the Pods that run there, not of those that ended.
#[test]
fn nodes_have_the_images_of_their_pods() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-of-a"},
        "status": {"images": [{"names": ["other:1", "listed:1"]}]}})
    .to_string();
    let nodes = |phase: &str, image: &str| {
        let pod = pod("a", &json!({}), image, None).replacen(
            '{',
            &format!(r#"{{"status": {{"phase": "{phase}"}}, "#),
            1,
        );
        surveyed(&(node.clone() + &pod), json!({})).rows()[0].nodes
    };
    assert_eq!(
        [
            nodes("Running", "x:1"),
            nodes("Succeeded", "x:1"),
            nodes("Failed", "listed:1")
        ],
        [1, 0, 1]
    );
}

/// A Node has all images of a workload, or it doesn't count.
#[test]
fn a_node_has_the_images_of_all_pods_of_a_workload() {
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-of-a"}}"#;
    let pod = |name, image| {
        pod(name, &json!({}), image, Some(("ReplicaSet", "web"))).replace("Never", "Always")
    };
    let nodes = |image| {
        surveyed(
            &(node.to_owned() + &pod("a", "x:1") + &pod("b", image)),
            json!({}),
        )
        .rows()[0]
            .nodes
    };
    assert_eq!([nodes("x:1"), nodes("y:1")], [1, 0]);
}

/// What a row says about a Pod.
#[test]
fn rows_say_what_is_true() {
    let row = |spec: Value, preset: &str| {
        let pod = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "b"}, "spec": {"template": {"spec": spec}}});
        let survey = surveyed(
            &pod.to_string(),
            json!({"choice": {"registries": ["quay.io"]}}),
        );
        let index = survey
            .presets()
            .iter()
            .position(|it| it.name == preset)
            .expect(preset);
        let row = survey.rows()[0].clone();
        let effect = row.results[index].clone().expect("it is selected");
        (row, effect)
    };
    let container = |name: &str, image: &str, policy: &str| json!({"name": name, "image": image, "imagePullPolicy": policy});
    // An invented digest isn't shown.
    let (_, effect) = row(
        json!({"containers": [container("a", "quay.io/a:1", "Always")]}),
        "always-by-digest",
    );
    assert_eq!(
        effect.reasons[0],
        "spec.containers[0].image: quay.io/a:1 gets its digest"
    );
    // A port is no tag.
    let image = format!("localhost:5000/app@sha256:{}", "a".repeat(64));
    let (of_port, _) = row(
        json!({"containers": [container("a", &image, "Always")]}),
        "jobs",
    );
    assert_eq!(json!(of_port.images), json!([image]));
    // A quote in a name is doubled in CSV.
    let quote = surveyed(
        &pod("a\"b\"", &json!({}), "x:1", None).replace("node-of-a\\\"b\\\"", "n"),
        json!({}),
    );
    assert!(
        quote.csv().contains(r#",team,"a""b""",1,"#),
        "{}",
        quote.csv()
    );
    // A Windows Pod gets no image volume.
    let two = [
        container("a", "quay.io/a:1", "IfNotPresent"),
        container("b", "quay.io/b:1", "IfNotPresent"),
    ];
    let windows = json!({"restartPolicy": "Never", "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": two});
    assert_eq!(row(windows, "jobs").1.outcome, Outcome::Warned);
    assert_eq!(
        row(json!({"restartPolicy": "Never", "containers": two}), "jobs")
            .1
            .outcome,
        Outcome::Changed
    );
    // What one container has pulled, another with Never finds.
    let mut mounting = container("a", "y:1", "IfNotPresent");
    mounting["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
    let pulled = json!({"restartPolicy": "Never", "containers": [container("b", "x:1", "Never"), mounting],
        "volumes": [{"name": "v", "image": {"reference": "x:1"}}]});
    let question = json!({"incident": {"what": "image", "name": "docker.io/library/y:1"}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pulled});
    assert_eq!(
        surveyed(&pod.to_string(), question).rows()[0].before.fate,
        Fate::Half
    );
    // A registry is down, and not another one whose name begins like its own.
    let question = json!({"incident": {"what": "registry", "name": "quay.io"}});
    let other = self::pod("a", &json!({}), "quay.io:8443/a:1", None);
    assert_eq!(
        surveyed(&other, question).rows()[0].before.fate,
        Fate::Starts
    );
}

/// Rows that would have one name are told apart: by a label, else by an image.
#[test]
fn rows_of_one_name_are_told_apart() {
    let job = |number: u32, label: &str, image: &str| {
        let owner = format!("build-{label}{image}{number}").replace(':', "");
        pod(
            &format!("p{owner}"),
            &json!({"run": owner, "step": label}),
            image,
            Some(("Job", &*owner)),
        )
    };
    let names = |pods: [String; 4]| -> Vec<String> {
        let survey = surveyed(&pods.concat(), json!({}));
        survey.rows().iter().map(|row| row.name.clone()).collect()
    };
    let by_label = names([
        job(1, "test", "ci:1"),
        job(2, "test", "ci:1"),
        job(3, "lint", "ci:2"),
        job(4, "lint", "ci:2"),
    ]);
    assert_eq!(by_label, ["build-* (step=test)", "build-* (step=lint)"]);
    let by_image = names([
        job(1, "x", "ci:1"),
        job(2, "x", "ci:1"),
        job(3, "x", "ci:2"),
        job(4, "x", "ci:2"),
    ]);
    assert_eq!(by_image, ["build-* (ci:1)", "build-* (ci:2)"]);
}
