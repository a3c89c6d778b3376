//! Tests with the admission reviews that were captured from a real API server.

use consistent_pull_policy_spec::generate::Answers;
use consistent_pull_policy_spec::validate;
use serde_json::{Value, json};

fn review(name: &str) -> Value {
    let path = format!(
        "{}/../test_data/reviews/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let review: Value = serde_json::from_str(&text).expect("a review is JSON");
    review["request"].clone()
}

#[test]
fn every_review_is_accepted_with_empty_settings() {
    let directory = format!("{}/../test_data/reviews", env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(directory).expect("there are reviews") {
        let path = entry.expect("a file").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name")
            .to_owned();
        let verdict = validate(&review(&name), &json!({}), &mut Answers::default());
        assert!(verdict.allowed, "{name}: {verdict:#?}");
    }
}

#[test]
fn the_agent_stacks_check_is_raised() {
    let verdict = validate(
        &review("agent-stack-pod-create"),
        &json!({}),
        &mut Answers::default(),
    );
    let changes: Vec<(&str, &str)> = verdict
        .changes
        .iter()
        .map(|one| (one.path.as_str(), one.rule))
        .collect();
    assert_eq!(
        changes,
        [
            ("spec.containers[0].imagePullPolicy", "pull-once"),
            ("spec.initContainers[1].imagePullPolicy", "weak-check"),
        ]
    );
}

#[test]
fn the_agent_stacks_checks_become_volumes() {
    let settings = json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true}});
    let request = review("agent-stack-pod-create");
    let spec = validate(&request, &settings, &mut Answers::default())
        .object
        .expect("it is changed")["spec"]
        .clone();
    let names: Vec<&Value> = spec["initContainers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    // The checks have the only requests of the Pod. Without the first check it would be BestEffort.
    assert_eq!(names, ["copy-agent", "imagecheck-0"]);
    let images = spec["volumes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["image"].is_object());
    assert_eq!(images.count(), 1);
}
