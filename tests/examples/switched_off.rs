//! The label `consistent-pull-policy/ignore`, which switches the examples off: on a namespace, or on
//! an object.

use consistent_pull_policy_survey::{AdmissionRequest, is_selected};
use serde_json::{Value, json};

use super::admission::selects;
use super::{does_it_act, examples, is_second, policies};

const LABEL: &str = "consistent-pull-policy/ignore";

fn with_label(labels: &Value) -> Value {
    let mut labels = labels.clone();
    labels[LABEL] = json!("");
    labels
}

/// Whether tenants could use the label on a Pod to get at an image: a policy with `requireAlways`
/// is a guard.
fn is_guard(settings: &Value) -> bool {
    !settings["images"]["requireAlways"].is_null()
}

#[test]
fn the_label_on_a_namespace_switches_off_all_policies_that_are_called() {
    for (policy, request) in does_it_act::requests() {
        let namespace = json!({"kubernetes.io/metadata.name": "default"});
        for (namespace, is_off) in [(with_label(&namespace), true), (namespace, false)] {
            let request = AdmissionRequest::new(&request, &namespace);
            assert_ne!(policy.selects(&request), is_off, "{}", policy.name);
        }
    }
}

#[test]
fn the_label_on_an_object_switches_off_all_policies_that_are_called_but_guards() {
    let mut guards = 0;
    for (policy, mut request) in does_it_act::requests() {
        let is_guard = is_guard(&policy.spec["settings"]);
        guards += usize::from(is_guard);
        request["object"]["metadata"]["labels"] =
            with_label(&request["object"]["metadata"]["labels"]);
        assert_eq!(selects(&policy, &request), is_guard, "{}", policy.name);
    }
    assert!(guards > 0);
}

/// An incident is no reason to have no reports.
#[test]
fn no_label_switches_off_an_audit() {
    let policies = policies();
    let mut audits = policies.iter().filter(|policy| policy.is_audit).peekable();
    assert!(audits.peek().is_some());
    for policy in audits {
        assert!(!policy.spec.to_string().contains(LABEL), "{}", policy.name);
    }
}

/// A second policy must not reject what its first policy was switched off for.
#[test]
fn a_second_policy_is_switched_off_with_its_first_one() {
    for policy in policies().iter().filter(|policy| is_second(policy)) {
        let labels = json!({LABEL: ""});
        assert!(
            !is_selected(&policy.spec["namespaceSelector"], &labels),
            "{}",
            policy.name
        );
        let objects = policy.spec["objectSelector"].to_string();
        assert_eq!(
            objects.contains(LABEL),
            !is_guard(&policy.spec["settings"]),
            "{}",
            policy.name
        );
    }
}

#[test]
fn the_labels_switch_off_the_policy_without_kubewarden() {
    let examples = examples();
    let example = examples
        .iter()
        .find(|example| example.name == "without-kubewarden")
        .expect("the example");
    let constraints = &example.manifests[0]["spec"]["matchConstraints"];
    for selector in ["namespaceSelector", "objectSelector"] {
        assert!(
            is_selected(&constraints[selector], &json!({})),
            "{selector}"
        );
        assert!(
            !is_selected(&constraints[selector], &json!({LABEL: "x"})),
            "{selector}"
        );
    }
}
