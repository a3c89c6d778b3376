//! The rule *pull-once*: an image that a check has pulled with `Always` is not pulled again.

mod common;

use common::{Answer, container, containers_of, pod_create, validate};
use serde_json::{Value, json};

/// A kubelet asks the registry again for another spelling of the same image (seen on kubelet
/// 1.36.2).
#[test]
fn pull_once_acts_only_on_references_that_are_written_alike() {
    let spec = |check: &str, checked: &str, app: &str| {
        let mut check = container("imagecheck-0", check, checked);
        check["command"] = json!(["/bin/true"]);
        pod_create(&json!({
            "initContainers": [check],
            "containers": [container("a", app, "Always")],
        }))
    };
    let policies = |answer: &Answer| -> Vec<Value> {
        let object = answer.mutated().expect("a repair");
        let containers = containers_of(&object["spec"]).into_iter();
        containers
            .map(|(.., container)| container["imagePullPolicy"].clone())
            .collect()
    };
    // Written alike: the check is raised, and the container is lowered.
    let answer = validate(&spec("a:1", "IfNotPresent", "a:1"), &json!({}));
    assert_eq!(policies(&answer), ["Always", "IfNotPresent"]);
    // Written differently: the check is raised, but the container keeps `Always`.
    let other = spec("docker.io/library/a:1", "IfNotPresent", "a:1");
    let answer = validate(&other, &json!({}));
    assert_eq!(policies(&answer), ["Always", "Always"]);
    assert_eq!(
        answer.warnings(),
        [
            "imagecheck-0 now pulls docker.io/library/a:1 with Always instead of IfNotPresent, as a needs",
            "a:1 is checked as docker.io/library/a:1: a node asks the registry again for another spelling",
        ]
    );
    // If a check that is written alike is added, the existing check stays as it is.
    let answer = validate(&other, &json!({"imageChecks": {"coverage": "Fix"}}));
    assert_eq!(
        policies(&answer),
        ["IfNotPresent", "Always", "IfNotPresent"]
    );
    assert_eq!(answer.audited("changes")[1]["to"]["image"], "a:1");
    assert_eq!(
        answer.warnings(),
        [
            "a:1 is checked as docker.io/library/a:1: a node asks the registry again for another spelling"
        ]
    );
}
