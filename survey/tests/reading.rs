//! The input: what is read of it, and the errors for a wrong one.

use consistent_pull_policy_survey::Fate;
use serde_json::{Value, json};

use crate::{corpus, surveyed};

/// A Pod, a Job and a Namespace in two outputs of kubectl: a list in JSON, and one in YAML. A piece
/// may end within the number.
const TWO_OUTPUTS: &str = r#"{
    "apiVersion": "v1",
    "number": 12,
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
        let mut presets = survey.presets().iter();
        let jobs = presets
            .position(|preset| preset.name == "jobs")
            .expect("jobs");
        let mut rows = survey.rows().iter();
        let row = rows.find(|row| row.kind == "Job").expect("the Job");
        row.results[jobs]
            .as_ref()
            .expect("it is selected")
            .after
            .fate
    };
    assert_eq!(outcome(&two), Fate::Half);
    assert_eq!(
        outcome(&two.replace("hostUsers: no", "hostUsers: yes")),
        Fate::Waits
    );
}

/// What people have, each as kubectl reads it: its text, and the numbers of its kinds.
#[test]
fn inputs_of_people_are_read() {
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}"#;
    let job = r#"{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec":
        {"containers": [{"name": "a", "image": "a"}]}}}}"#;
    let flow = job.replace('"', "");
    for (what, text, kinds) in [
        (
            "a list in a list",
            format!(
                r#"{{"kind": "List", "items": [{job}, {{"kind": "PodList", "items": [{pod}]}}]}}"#
            ),
            json!({"Job": 1, "Pod": 1}),
        ),
        (
            "a number at an end and three outputs without a line between them",
            format!(r#"{job} {{"kind": "X", "version": 12}}{job}"#),
            json!({"Job": 2, "X": 1}),
        ),
        (
            "a comment and a directive before the first document, one without content, Windows' ends of lines",
            format!(
                "# (c)\r\n%YAML 1.1\r\n---\r\n{flow}\r\n---\r\n# nothing\r\n---\r\n{flow}\r\n...\r\n"
            ),
            json!({"Job": 2}),
        ),
        (
            "JSON in a document of YAML, and a list without indentation",
            format!("---\n{job}\n---\napiVersion: v1\nitems:\n- {flow}\nkind: List\n"),
            json!({"Job": 2}),
        ),
        (
            "a byte order mark",
            format!("\u{feff}{job}"),
            json!({"Job": 1}),
        ),
        (
            "objects without a Pod spec beside one that has one",
            format!(
                r#"{job}{{"kind": "Pod", "apiVersion": "v1"}}{{"kind": "Job", "apiVersion": "batch/v1", "spec": {{}}}}"#
            ),
            json!({"Job": 2, "Pod": 1}),
        ),
    ] {
        let survey = surveyed(&text, json!({}));
        assert_eq!(json!(survey.report().kinds), kinds, "{what}");
        let number: usize = survey.rows().iter().map(|row| row.number).sum();
        assert!(
            (1..=2).contains(&number),
            "{what}: {number} objects in rows"
        );
    }
}

/// Windows PowerShell writes UTF-16. A second file begins a document of its own.
#[test]
fn each_file_is_read_in_its_encoding() {
    let pod = "kind: Pod\napiVersion: v1\nspec: {containers: [{name: \u{1f600}, image: a}]}\n";
    let little: Vec<u8> = format!("\u{feff}{pod}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let big: Vec<u8> = format!("\u{feff}{pod}")
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let mut survey = crate::survey();
    for file in [pod.as_bytes(), &little, pod.as_bytes(), &big] {
        for piece in file.chunks(3) {
            survey.read(piece);
        }
        survey.end_file().expect("a file");
    }
    survey.finish().expect("four files");
    assert_eq!(json!(survey.report().kinds), json!({"Pod": 4}));
}

/// A merge key is what kubectl makes of it: both containers have an image.
#[test]
fn merge_keys_are_merged() {
    let text = "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: a\n    <<: &default {image: \"a:v1\", \
                imagePullPolicy: Always}\n  - <<: *default\n    name: b\n    image: b:v1\n";
    let survey = surveyed(text, json!({}));
    let row = &survey.rows()[0];
    assert!(row.is_always);
    assert_eq!(
        json!(row.images),
        json!(["docker.io/library/a:v1", "docker.io/library/b:v1"])
    );
}

#[test]
fn the_error_says_what_is_wrong_with_the_input() {
    let cut = |text: &str, end: &str| text.split(end).next().unwrap_or_default().to_owned();
    for (input, sentence) in [
        (String::new(), "no Pod and no workload"),
        (
            "NAME   READY\nweb-1   1/1\n".to_owned(),
            "a table for people",
        ),
        ("No resources found\n".to_owned(), "no Kubernetes object"),
        ("hello: world\n".to_owned(), "no Kubernetes object"),
        (
            "{{ .Values.pod }}\n".to_owned(),
            "object 1 of the input is no Kubernetes object (",
        ),
        ("kind: {{ .Values.kind }}\n".to_owned(), "at line 1,"),
        (
            "kind: Pod\n---\nmetadata: {name: \"hunter2\n".to_owned(),
            "at line 3,",
        ),
        (
            "kind: A\nkind: B\n".to_owned(),
            "need a line --- between them",
        ),
        (
            cut(TWO_OUTPUTS, "side:v1"),
            "after 1 complete ones: its end was cut off",
        ),
        (cut(TWO_OUTPUTS, "  kind: Node"), "its end was cut off"),
        (
            "kind: A\n---\nitems: []\n".to_owned(),
            "its end was cut off",
        ),
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
        assert!(
            error.contains("cut off") == sentence.contains("cut off") && !error.contains("hunter2"),
            "{error}"
        );
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
