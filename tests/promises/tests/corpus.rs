//! Tries the promises with every object of the corpus, under the settings of every example and with every event.
//! Another test checks the Pods of the corpus.

use consistent_pull_policy_promises::answers::Answers;
use consistent_pull_policy_promises::corpus::{examples, manifests, samples};
use consistent_pull_policy_promises::events::Event;
use consistent_pull_policy_promises::generate::Case;
use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::promises::broken_promises;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

#[test]
fn the_corpus_keeps_the_promises() {
    let mut failures = Vec::new();
    let (samples, examples) = (samples(), examples());
    assert!(samples.len() > 40 && examples.len() > 5);
    for (example, settings) in examples {
        for sample in &samples {
            let case =
                Case { request: sample.request.clone(), settings: settings.clone(), answers: Answers::default() };
            for event in Event::ALL {
                let place = format!("{}, {example}, {event:?}", sample.file);
                let broken = broken_promises(&Native, &case, event);
                let broken = broken.unwrap_or_else(|problem| panic!("{place}: {problem}"));
                for one in broken {
                    failures.push(format!("{}: {place}\n    {}", one.promise, one.details));
                }
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
        let pod: Pod = serde_json::from_value(manifest.clone()).unwrap_or_else(|error| panic!("{file}: {error}"));
        let typed = serde_json::to_value(&pod).expect("a Pod is JSON");
        let fields = unknown_fields(&manifest, &typed);
        assert!(fields.is_empty(), "{file}: Kubernetes has no {fields:?}");
    }
}

/// The paths of the members of `value` that are missing in `typed`: the same value after a type read and
/// wrote it. A null member counts as not set.
fn unknown_fields(value: &Value, typed: &Value) -> Vec<String> {
    let below = |key: String, value: &Value, typed: &Value| {
        let fields = unknown_fields(value, typed).into_iter();
        fields.map(move |field| format!("{key}{field}"))
    };
    match (value, typed) {
        (Value::Object(members), Value::Object(of_type)) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .flat_map(|(key, member)| match of_type.get(key) {
                Some(typed) => below(format!(".{key}"), member, typed).collect(),
                None => vec![format!(".{key}")],
            })
            .collect(),
        (Value::Array(elements), Value::Array(of_type)) => {
            let pairs = elements.iter().zip(of_type).enumerate();
            pairs.flat_map(|(index, (element, typed))| below(format!("[{index}]"), element, typed)).collect()
        }
        _ => Vec::new(),
    }
}
