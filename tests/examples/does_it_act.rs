//! The objects in `examples/pods`: an operator sends them to an API server, and sees from the
//! answer whether a policy acts.

use std::fs;
use std::path::Path;

use consistent_pull_policy_promises::corpus::{create_request, fill_in_defaults};
use serde_json::{Value, json};

use super::admission::{Policy, Registries, admit};
use super::{documents, is_second, only_audits, policies};

/// The request that creates the object of a policy.
fn request(policy: &Policy) -> Value {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/pods/{}.yaml", policy.file));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut object = documents(&text).remove(0);
    if object["kind"] == "Pod" {
        fill_in_defaults(&mut object);
    }
    let mut request = create_request(&object);
    if object["kind"] == "Job" {
        request["kind"] = json!({"group": "batch", "version": "v1", "kind": "Job"});
        request["resource"] = json!({"group": "batch", "version": "v1", "resource": "jobs"});
    }
    request
}

/// The policies that an API server calls, with their requests. A second policy only looks at what
/// the first one returned.
pub(super) fn requests() -> Vec<(Policy, Value)> {
    let called = policies()
        .into_iter()
        .filter(|policy| !only_audits(policy) && !is_second(policy));
    called
        .map(|policy| (request(&policy), policy))
        .map(|(request, policy)| (policy, request))
        .collect()
}

/// No registry is asked, so the answer is the same in every cluster.
#[test]
fn each_policy_that_is_called_repairs_or_rejects_its_object() {
    let requests = requests();
    assert!(requests.len() > 8, "{}", requests.len());
    for (policy, request) in requests {
        assert!(policy.selects(&request), "{}", policy.name);
        let outcome = admit(&[&policy], &request, Registries::Down);
        assert!(
            outcome.is_err() || outcome != Ok(request["object"].clone()),
            "{}: {outcome:?}",
            policy.name
        );
        assert_eq!(
            outcome,
            admit(&[&policy], &request, Registries::Up),
            "{}",
            policy.name
        );
    }
}

/// Otherwise, a namespace with Pod Security's level `restricted` would reject it first.
#[test]
fn each_object_and_what_becomes_of_it_satisfies_restricted() {
    for (policy, request) in requests() {
        let repaired = admit(&[&policy], &request, Registries::Down).ok();
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
