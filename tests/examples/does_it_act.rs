//! The objects in `examples/pods`: an operator sends them to an API server, and sees from the
//! answer whether a policy acts.

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::{survey, text};
use consistent_pull_policy_survey::AdmissionPolicy;
use serde_json::{Value, json};

use super::admission::{AWAY, admit, selects};
use super::{file, is_second, policies};

/// The policies that an API server calls, with their requests. A second policy only looks at what
/// the first one returned.
pub(super) fn requests() -> Vec<(AdmissionPolicy, Value)> {
    let mut survey = survey();
    let mut requests = Vec::new();
    for policy in policies() {
        if !policy.is_audit && !is_second(&policy) {
            let object = text(&format!("examples/pods/{}.yaml", file(&policy)));
            let mut created = survey.requests(&object, &mut Native).expect("an object");
            requests.push((policy, created.remove(0)));
        }
    }
    requests
}

#[test]
fn each_policy_that_is_called_repairs_or_rejects_its_object() {
    let requests = requests();
    assert!(requests.len() > 8, "{}", requests.len());
    for (policy, request) in requests {
        assert!(selects(&policy, &request), "{}", policy.name);
        for incident in [None, Some(&AWAY)] {
            let outcome = admit(&[&policy], &request, incident);
            assert!(
                outcome.is_err() || outcome != Ok(request["object"].clone()),
                "{}: {outcome:?}",
                policy.name
            );
        }
    }
}

/// Otherwise, a namespace with Pod Security's level `restricted` would reject it first.
#[test]
fn each_object_and_what_becomes_of_it_satisfies_restricted() {
    for (policy, request) in requests() {
        let repaired = admit(&[&policy], &request, Some(&AWAY)).ok();
        for object in [request["object"].clone()].into_iter().chain(repaired) {
            let spec = object["spec"]
                .pointer("/template/spec")
                .unwrap_or(&object["spec"]);
            assert_eq!(
                spec["securityContext"]["runAsNonRoot"], true,
                "{}",
                policy.name
            );
            assert_eq!(
                spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault",
                "{}",
                policy.name
            );
            let lists = ["initContainers", "containers"].map(|list| spec[list].as_array());
            for container in lists.into_iter().flatten().flatten() {
                let security = &container["securityContext"];
                assert_eq!(
                    security["allowPrivilegeEscalation"], false,
                    "{}: {container}",
                    policy.name
                );
                assert_eq!(
                    security["capabilities"],
                    json!({"drop": ["ALL"]}),
                    "{}: {container}",
                    policy.name
                );
            }
        }
    }
}
