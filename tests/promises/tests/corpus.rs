//! Tries the promises with every object of the corpus, under the settings of every example.
//! Another test checks the Pods of the corpus.

use consistent_pull_policy_promises::answers::Answers;
use consistent_pull_policy_promises::corpus::{examples, manifests, samples};
use consistent_pull_policy_promises::generate::Case;
use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::promises::broken_promises;
use k8s_openapi::api::core::v1::Pod;

#[test]
fn the_corpus_keeps_the_promises() {
    let mut failures = Vec::new();
    let (samples, examples) = (samples(), examples());
    assert!(samples.len() > 40 && examples.len() > 5);
    for (example, settings) in examples {
        for sample in &samples {
            let case = Case {
                request: sample.request.clone(),
                settings: settings.clone(),
                answers: Answers::default(),
            };
            for one in broken_promises(&Native, &case).expect("an answer") {
                failures.push(format!("{}, {example}: {one:?}", sample.file));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Finds misspelt field names in the corpus: a field that the type `Pod` doesn't have is ignored.
#[test]
fn the_pods_of_the_corpus_are_pods_of_kubernetes() {
    for (file, manifest) in manifests() {
        let mut unknown = Vec::new();
        let pod: Result<Pod, _> =
            serde_ignored::deserialize(manifest, |path| unknown.push(path.to_string()));
        assert!(
            pod.is_ok() && unknown.is_empty(),
            "{file}: {:?}, Kubernetes has no {unknown:?}",
            pod.err()
        );
    }
}
