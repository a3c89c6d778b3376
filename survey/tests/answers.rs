//! The answer, what a cluster can't have, and the proposal.

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::text;
use consistent_pull_policy_survey::{Choice, Question, Report, Survey};
use serde_json::{Value, json};

use crate::objects::pod;
use crate::{corpus, surveyed};

fn node(version: &str, runtime: &str) -> String {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"},
        "status": {"nodeInfo": {"kubeletVersion": version, "containerRuntimeVersion": runtime}}})
    .to_string()
}

/// A Job with two app containers: without the image of one, it does half of its work.
fn job(pull_policy: &str) -> String {
    let container = |name: &str| json!({"name": name, "image": format!("{name}:v1"), "imagePullPolicy": pull_policy});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report", "namespace": "team"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container("app"), container("side")]}}}})
    .to_string()
}

fn report(input: &str, question: Value) -> Report {
    surveyed(input, question).report()
}

#[test]
fn the_answer_names_the_file_that_saves_the_work() {
    let report = report(
        &(node("v1.36.0", "containerd://2.1.4") + &job("IfNotPresent")),
        json!({}),
    );
    assert_eq!(report.answer.files, ["jobs"]);
    let sentence = "If one image is gone, for new Pods on an empty node, 1 of 1 workloads could do half of their work: take jobs.";
    assert_eq!(report.answer.sentence, sentence);
    assert!(
        !report.answer.unsaved.contains("half"),
        "{}",
        report.answer.unsaved
    );
}

#[test]
fn a_cluster_in_which_nothing_is_half_done_needs_no_file() {
    let single = job("IfNotPresent").replace(r#","name":"side"#, r#","name":"app"#);
    let question = json!({"incident": {"what": "registries", "moment": "meanwhile"}});
    let report = report(&single, question);
    assert_eq!(report.answer.files, [""; 0]);
    assert!(
        report.answer.sentence.starts_with("No preset is needed"),
        "{}",
        report.answer.sentence
    );
}

/// AKS' Ubuntu 22.04 has Kubernetes 1.35 with containerd 1.7, and GKE's 1.33 has 2.0.
#[test]
fn a_preset_that_the_nodes_cannot_run_is_not_proposed() {
    let none = "";
    for (version, runtime, problem) in [
        ("v1.35.0-eks-1a2b", "containerd://2.1.0", none),
        ("v1.36.0", "containerd://10.0.1+k3s1", none),
        ("v1.35.2", "cri-o://1.31.0", none),
        ("v1.35.2", "mock://1.0", none),
        ("v1.35.2", "", none),
        (
            "v1.34.2",
            "containerd://2.1.0",
            "Kubernetes 1.35 on every Node, and node-1 has 1.34",
        ),
        (
            "v1.35.2",
            "containerd://2.0.11",
            "containerd 2.1 or CRI-O 1.31 on every Node, and node-1 has containerd 2.0.11",
        ),
        (
            "v1.35.2",
            "containerd://1.7.27",
            "containerd 2.1 or CRI-O 1.31 on every Node, and node-1 has containerd 1.7.27",
        ),
        (
            "v1.35.2",
            "cri-o://1.30.9",
            "containerd 2.1 or CRI-O 1.31 on every Node, and node-1 has cri-o 1.30.9",
        ),
        (
            "v1.35.2",
            "docker://28.0.1",
            "containerd 2.1 or CRI-O 1.31 on every Node, and node-1 has docker 28.0.1",
        ),
    ] {
        let report = report(&(node(version, runtime) + &job("IfNotPresent")), json!({}));
        let line = |name| {
            report
                .presets
                .iter()
                .find(|line| line.name == name)
                .expect(name)
        };
        assert_eq!(
            line("jobs")
                .problem
                .strip_prefix("it needs ")
                .unwrap_or_default(),
            problem
        );
        assert_eq!(line("air-gapped").problem, "");
        assert_eq!(
            report.answer.files.contains(&"jobs".to_owned()),
            problem.is_empty()
        );
        let told = format!("jobs isn't proposed: it needs {problem}");
        assert_eq!(
            report.answer.unsaved.contains(&told),
            !problem.is_empty(),
            "{}",
            report.answer.unsaved
        );
    }
}

#[test]
fn a_file_that_always_pull_images_would_undo_is_not_proposed() {
    let question = json!({"incident": {"what": "registries", "moment": "meanwhile"}, "choice": {"registries": ["docker.io"]}});
    let report = report(
        &(node("v1.36.0", "containerd://2.1.4") + &job("Always")),
        question,
    );
    assert!(report.is_always);
    assert!(
        report
            .assumed
            .iter()
            .any(|note| note.contains("AlwaysPullImages"))
    );
    let undone = |name: &str| {
        report
            .presets
            .iter()
            .any(|line| line.name == name && line.undone == 1)
    };
    assert!(undone("air-gapped"));
    // Only while registries are down.
    assert!(undone("always-if-available"));
    assert_eq!(report.answer.files, [""; 0]);
}

/// What isn't in the input is assumed, and the notes say so.
#[test]
fn the_notes_name_what_the_input_does_not_have() {
    let namespace = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}"#;
    let other = pod("x", &json!({}), "a:1", None);
    let has = |input: &str, words| {
        let notes = report(input, json!({})).assumed;
        notes.iter().any(|note| note.contains(words))
    };
    let night = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "night"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {}}}}}});
    for (words, object) in [
        ("no Namespace is in the input", namespace.to_owned()),
        ("no Job and no CronJob is in the input", night.to_string()),
        ("no Node is in the input", node("v1.36.0", "")),
        ("no Job and no CronJob is in the input", job("Always")),
        (
            "kubectl get pods,jobs,cronjobs,namespaces,nodes",
            job("Always"),
        ),
    ] {
        assert!(has(&other, words), "{words}");
        assert!(!has(&(other.clone() + &object), words), "{words}");
    }
}

/// An audit is never proposed, and selects nothing at admission.
#[test]
fn only_what_takes_effect_is_proposed() {
    let report = report(&corpus(), json!({"incident": {"what": "registries"}}));
    let audit = report.presets.iter().find(|line| line.is_audit);
    let audit = audit.expect("the audit");
    assert_eq!(audit.selected, 0);
    assert!(audit.reported > 0);
    assert!(!report.answer.files.contains(&audit.name));
    assert!(report.answer.files.len() <= 2);
}

/// Of two presets that can't be combined, one is proposed.
#[test]
fn presets_that_cannot_be_combined_are_not_proposed_together() {
    let of_buildkite = job("IfNotPresent").replace(
        r#""spec":{"containers""#,
        r#""metadata":{"labels":{"buildkite.com/job-uuid":"x"}},"spec":{"containers""#,
    );
    let of_buildkite = of_buildkite.replace(
        r#""name":"report""#,
        r#""labels":{"buildkite.com/job-uuid":"x"},"name":"step""#,
    );
    let presets = ["jobs", "agent-stack-k8s-volumes"]
        .map(|name| (name, text(&format!("examples/{name}.yaml"))));
    let proposed = |pairs: &str| {
        let files = presets.iter().map(|(name, text)| (*name, &**text));
        let mut survey = Survey::new(files.chain([("pairs", pairs)])).expect("two presets");
        survey.read((job("IfNotPresent") + &of_buildkite).as_bytes());
        survey.finish().expect("two Jobs");
        while survey.work(&mut Native) {}
        survey.report().answer.files.len()
    };
    assert_eq!(proposed("{}"), 2);
    let both = "{jobs: {agent-stack-k8s-volumes: x}, agent-stack-k8s-volumes: {jobs: x}}";
    assert_eq!(proposed(both), 1);
}

fn asked(choice: &Value) -> Survey {
    surveyed(&job("Always"), json!({"choice": choice}))
}

#[test]
fn a_choice_without_namespaces_gives_no_command() {
    let survey = asked(&json!({"namespaces": {"only": []}}));
    assert!(survey.command("jobs", "chart.tgz").is_err());
    assert!(survey.rows()[0].results.iter().all(Option::is_none));
}

#[test]
fn the_detail_of_a_workload_is_its_pod() {
    let detail = asked(&json!({})).detail(0, "jobs", &mut Native);
    assert_eq!(detail.expect("a detail").request["object"]["kind"], "Pod");
}

#[test]
fn public_registries_never_get_always() {
    let survey = asked(&json!({"registries": ["docker.io", "registry.corp.internal"]}));
    let command = |name: &str| survey.command(name, "chart.tgz").expect(name);
    assert!(command("jobs").contains("docker.io/*"));
    let tenants = command("multi-tenant");
    assert!(
        tenants.contains("registry.corp.internal/*") && !tenants.contains("docker.io"),
        "{tenants}"
    );
    let public = asked(&json!({"registries": ["docker.io"]})).command("multi-tenant", "chart.tgz");
    let public = public.expect("a command");
    assert!(!public.contains("requireAlways"), "{public}");
}

/// Only a list that a preset's header says to replace is replaced.
#[test]
fn only_placeholders_are_replaced() {
    let jobs = text("examples/jobs.yaml");
    let command = |text: &str| {
        let mut survey = Survey::new([("own", text)]).expect("a preset");
        survey.ask(Question {
            choice: Choice {
                registries: vec!["quay.io".to_owned()],
                ..Choice::default()
            },
            ..Question::default()
        });
        survey.command("own", "chart.tgz").expect("a command")
    };
    assert!(command(&jobs).contains("quay.io/*"));
    assert!(!command(&jobs.replace("# Replace: ", "# ")).contains("quay.io/*"));
}

/// A preset that rejects more than it saves is not proposed: here, images with invalid names.
#[test]
fn what_a_preset_harms_counts() {
    let bad = job("IfNotPresent").replace("app:v1", "App:v1");
    let bad = |number: &str| bad.replace("report", number).replace("side", number);
    let report = |input: &str| report(input, json!({}));
    assert_eq!(report(&job("IfNotPresent")).answer.files, ["jobs"]);
    let all = job("IfNotPresent") + &bad("one") + &bad("two");
    assert!(!report(&all).answer.files.contains(&"jobs".to_owned()));
}

/// A row counts as many Pods as it has. A registry that a Pod may have invented is marked.
#[test]
fn registries_are_counted_by_pods_and_marked() {
    let pods = [
        ("ReplicaSet", "quay.io/a:1"),
        ("ReplicaSet", "quay.io/a:1"),
        ("ReplicaSet", "quay.io/a:1"),
        ("A", "ghcr.io/a:1"),
        ("B", "ghcr.io/a:1"),
        ("C", "169.254.169.254/a:1"),
        ("D", "localhost/a:1"),
        ("E", "corp.example.net:5000/a:1"),
    ];
    let pods = pods.map(|(kind, image)| pod("x", &json!({}), image, Some((kind, "one"))));
    let report = report(&pods.concat(), json!({}));
    let lines = report.registries.iter();
    let lines: Vec<_> = lines
        .map(|line| (&*line.name, line.pods, line.doubt))
        .collect();
    assert_eq!(
        lines,
        [
            ("quay.io", 3, None),
            ("ghcr.io", 2, None),
            ("169.254.169.254", 1, Some("an address")),
            ("corp.example.net:5000", 1, Some("a port")),
            ("localhost", 1, Some("the node itself")),
        ]
    );
    assert_eq!(report.images[..2], ["quay.io/a:1", "ghcr.io/a:1"]);
}
