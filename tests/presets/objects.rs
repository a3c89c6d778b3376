//! The objects in `examples/pods`: an operator sends them to an API server, and sees from the
//! answer whether a preset takes effect.

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::{survey, text};
use serde_json::{Value, json};

use super::admission::{UNREACHABLE, admit, selects};
use super::{Preset, presets};

/// The presets that an API server calls, with the requests that create their objects.
fn requests() -> Vec<(Preset, Value)> {
    let mut survey = survey();
    let mut presets = presets();
    presets.retain(|preset| !preset.policy.is_audit);
    let mut request = |preset: &Preset| {
        let object = text(&format!("examples/pods/{}.yaml", preset.name));
        let mut created = survey.requests(&object, &mut Native).expect("an object");
        created.remove(0)
    };
    presets
        .into_iter()
        .map(|preset| {
            let request = request(&preset);
            (preset, request)
        })
        .collect()
}

#[test]
fn each_preset_that_is_called_repairs_or_rejects_its_object() {
    let requests = requests();
    assert_eq!(requests.len(), 8);
    for (Preset { name, policy, .. }, request) in requests {
        assert!(selects(&policy, &request), "{name}");
        for incident in [None, Some(&UNREACHABLE)] {
            let outcome = admit(&[&policy], &request, incident);
            assert!(
                outcome.is_err() || outcome != Ok(request["object"].clone()),
                "{name}: {outcome:?}",
            );
        }
    }
}

/// Otherwise, a namespace with Pod Security's level `restricted` would reject it first.
#[test]
fn each_object_and_what_becomes_of_it_satisfies_restricted() {
    for (Preset { name, policy, .. }, request) in requests() {
        let repaired = admit(&[&policy], &request, Some(&UNREACHABLE)).ok();
        for object in [request["object"].clone()].into_iter().chain(repaired) {
            let spec = &object["spec"];
            let security = &spec["securityContext"];
            assert_eq!(security["runAsNonRoot"], true, "{name}");
            assert_eq!(
                security["seccompProfile"]["type"], "RuntimeDefault",
                "{name}"
            );
            let lists = ["initContainers", "containers"].map(|list| spec[list].as_array());
            for container in lists.into_iter().flatten().flatten() {
                let security = &container["securityContext"];
                assert_eq!(security["allowPrivilegeEscalation"], false, "{container}");
                assert_eq!(
                    security["capabilities"],
                    json!({"drop": ["ALL"]}),
                    "{container}"
                );
            }
        }
    }
}
