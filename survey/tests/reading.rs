//! The input: what is read of it, and what a wrong one is told.

use serde_json::{Value, json};

use crate::{corpus, surveyed};

/// A Pod, a Job and a Namespace in two outputs of kubectl: a list in JSON, and one in YAML.
const TWO_OUTPUTS: &str = r#"{
    "apiVersion": "v1",
    "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a \" {"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "team"},
         "spec": {"containers": [{"name": "app", "image": "app:v1"}, {"name": "\\", "image": "side:v1"}]}}
    ],
    "kind": "List"
}
apiVersion: v1
items:
- apiVersion: batch/v1
  kind: Job
  metadata:
    name: job
    namespace: team
  spec:
    template:
      spec:
        hostUsers: no
        restartPolicy: Never
        containers:
        - name: app
          image: app:v1
- apiVersion: v1
  kind: Node
  metadata: {name: node}
kind: List
metadata:
  resourceVersion: ""
"#;

#[test]
fn pieces_of_any_length_give_the_same_rows() {
    for input in [TWO_OUTPUTS.to_owned(), corpus()] {
        let whole = surveyed(&input, json!({}));
        assert!(whole.rows().len() > 1);
        for length in [1, 7, 4096] {
            let mut survey = crate::survey();
            for piece in input.as_bytes().chunks(length) {
                survey.read(piece);
            }
            survey.finish().expect("the same input");
            while survey.work(&mut crate::Native) {}
            assert_eq!(survey.csv(), whole.csv(), "{length}");
        }
    }
}

#[test]
fn each_object_of_each_output_counts() {
    let survey = surveyed(TWO_OUTPUTS, json!({}));
    let kinds = json!(survey.report().kinds);
    assert_eq!(
        kinds,
        json!({"Job": 1, "Namespace": 1, "Node": 1, "Pod": 1})
    );
}

/// In a Pod without user namespaces, this policy adds no check volume: `no` is YAML 1.1's `false`,
/// as kubectl reads it.
#[test]
fn the_words_of_yaml_1_1_are_booleans() {
    // jobs.yaml asks no registry for these images, so it rejects no Job because of them.
    let two = TWO_OUTPUTS.replace(
        "image: app:v1\n- ",
        "image: registry.test/app:v1\n        - name: b\n          image: registry.test/b:v1\n- ",
    );
    let outcome = |input: &str| {
        let survey = surveyed(input, json!({}));
        let jobs = survey
            .examples()
            .iter()
            .position(|example| example.name == "jobs");
        let row = survey
            .rows()
            .iter()
            .find(|row| row.kind == "Job")
            .expect("the Job");
        row.results[jobs.expect("jobs.yaml")]
            .as_ref()
            .expect("it is selected")
            .after
            .fate
            .word()
    };
    assert_eq!(outcome(&two), "half");
    assert_eq!(
        outcome(&two.replace("hostUsers: no", "hostUsers: yes")),
        "waits"
    );
}

/// The elements of the API's own lists have no kind.
#[test]
fn the_list_of_an_api_server_is_read() {
    let pod = json!({"metadata": {"name": "one"}, "spec": {"containers": [{"name": "app", "image": "a"}]}});
    let list = format!(r#"{{"kind": "PodList", "apiVersion": "v1", "items": [{pod}]}}"#);
    assert_eq!(surveyed(&list, json!({})).rows().len(), 1);
}

#[test]
fn a_wrong_input_is_told_what_is_wrong() {
    let cut = |text: &str, end: &str| text.split(end).next().unwrap_or_default().to_owned();
    for (input, sentence) in [
        (String::new(), "there is no object in the input"),
        (
            "NAME   READY\nweb-1   1/1\n".to_owned(),
            "a table for people",
        ),
        ("No resources found\n".to_owned(), "no Kubernetes object"),
        ("hello: world\n".to_owned(), "no Kubernetes object"),
        (
            cut(TWO_OUTPUTS, "side:v1"),
            "after 1 complete ones: its end was cut off",
        ),
        (cut(TWO_OUTPUTS, "  kind: Node"), "its end was cut off"),
        (
            "apiVersion: v1\nkind: ConfigMap\n".to_owned(),
            "no Pod and no workload",
        ),
    ] {
        let mut survey = crate::survey();
        survey.read(input.as_bytes());
        let error = survey.finish().expect_err(sentence);
        assert!(error.contains(sentence), "{error}");
        assert!(error.contains("kubectl get pods,jobs"), "{error}");
    }
}

/// What nobody reads is dropped before anything is kept, so it can't be shown.
#[test]
fn no_secret_is_shown() {
    let secret = "hunter2";
    let container = |name: &str| {
        json!({"name": name, "image": "app:v1", "args": [secret], "command": [secret],
            "env": [{"name": "TOKEN", "value": secret}]})
    };
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"},
        "spec": {"containers": [container("a"), container("b")], "initContainers": [container("imagecheck-0")],
            "restartPolicy": "Never"}});
    let survey = surveyed(&pod.to_string(), json!({}));
    let shown = [
        json!(survey.rows()).to_string(),
        survey.csv(),
        json!(survey.report()).to_string(),
    ];
    assert!(!shown.concat().contains(secret));
    let _: Value = serde_json::from_str(&shown[0]).expect("JSON");
}
