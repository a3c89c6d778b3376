//! Checks that this policy agrees with the specification and keeps its promises for every object of the
//! corpus. Each object is tried with the settings of every example and with every [`Event`]. The tests call
//! this policy's crate, compiled for this machine. Another test checks the Pods of the corpus.

use crate::common::Native;
use consistent_pull_policy_spec::answers::Answers;
use consistent_pull_policy_spec::corpus::{Sample, examples, manifests, samples};
use consistent_pull_policy_spec::differential::check;
use consistent_pull_policy_spec::events::{Event, raise_all};
use consistent_pull_policy_spec::generate::Case;
use consistent_pull_policy_spec::json::unknown_fields;
use consistent_pull_policy_spec::promises::broken_promises;
use k8s_openapi::api::core::v1::Pod;

/// One case for each request of the corpus and each example. The case has the settings of the example. The
/// first value is the file of the example.
fn cases() -> Vec<(String, Sample, Case)> {
    let samples = samples();
    let mut cases = Vec::new();
    for (file, settings) in examples() {
        for sample in &samples {
            let case = Case {
                request: sample.request.clone(),
                settings: settings.clone(),
                answers: Answers::default(),
            };
            cases.push((file.clone(), sample.clone(), case));
        }
    }
    cases
}

/// The specification and this policy give the same answer to every request of the corpus, also after the plugin
/// `AlwaysPullImages` has raised the Pod's pull policies.
#[test]
fn the_specification_agrees_with_this_policy_on_the_corpus() {
    let mut differences = Vec::new();
    for (settings, sample, case) in cases() {
        let mut raised = case.clone();
        raise_all(&mut raised.request["object"]);
        for case in [case, raised] {
            if let Err(difference) = check(&Native, &case) {
                let lines = difference.lines.join("\n    ");
                differences.push(format!("{}, {settings}\n    {lines}", sample.file));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_corpus_keeps_the_promises() {
    let mut failures = Vec::new();
    for (settings, sample, case) in cases() {
        for event in Event::ALL {
            let place = format!("{}, {settings}, {event:?}", sample.file);
            let broken = broken_promises(&Native, &case, event);
            let broken = broken.unwrap_or_else(|problem| panic!("{place}: {problem}"));
            for one in broken {
                failures.push(format!("{}: {place}\n    {}", one.promise, one.details));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Finds misspelt field names in the corpus: a field that the type `Pod` doesn't have is lost when the
/// Pod is read.
#[test]
fn the_pods_of_the_corpus_are_pods_of_kubernetes() {
    for (file, manifest) in manifests() {
        let pod: Pod = serde_json::from_value(manifest.clone())
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let typed = serde_json::to_value(&pod).expect("a Pod is JSON");
        let fields = unknown_fields(&manifest, &typed);
        assert!(fields.is_empty(), "{file}: Kubernetes has no {fields:?}");
    }
}
