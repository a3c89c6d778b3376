//! The scenarios in `xtask/budgets.yaml`: requests as a cluster sends them. Each is sent twice: as it was captured,
//! so that this policy repairs its object, and with the repaired object, which this policy accepts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::capabilities::nothing_granted;
use crate::host::policy_module::{ValidationResponse, payload};
use crate::host::request::{AdmissionRequest, parse_review};
use crate::host::settings::Settings;

use super::request_cost::{MeteredPolicy, RequestCost, added_bytes};

/// An entry of the list `scenarios` in `xtask/budgets.yaml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioTemplate {
    /// A short description.
    name: String,
    /// The name of a file in `test_data/reviews`, without its extension.
    review: String,
    /// The number of containers that the Pod gets. Without it, the containers stay as they are.
    pub(crate) containers: Option<u64>,
    /// The policy's settings.
    settings: Settings,
    /// The budget of the request with the repaired object.
    accepted: Option<ScenarioBudget>,
    /// The budget of the captured request.
    repaired: Option<ScenarioBudget>,
}

/// The budget of a request.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioBudget {
    /// The largest number of instructions.
    pub(crate) instructions: u64,
    /// The largest ratio of this policy's time to the time of a policy that does nothing. This limit
    /// is shown, but never checked.
    pub(crate) times: f64,
}

/// A request and its cost.
pub(crate) struct Scenario {
    pub(crate) title: String,
    /// *accepted* or *repaired*.
    pub(crate) answer: &'static str,
    pub(crate) containers: Option<u64>,
    pub(crate) budget: Option<ScenarioBudget>,
    pub(crate) settings: Settings,
    pub(crate) request: AdmissionRequest,
    pub(crate) cost: RequestCost,
}

impl ScenarioTemplate {
    /// Sends both requests.
    pub(crate) fn scenarios(&self, root: &Path, policy: &MeteredPolicy) -> Result<[Scenario; 2]> {
        let path = root.join(format!("test_data/reviews/{}.json", self.review));
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut request = parse_review(&text).with_context(|| format!("in {}", path.display()))?;
        if let Some(count) = self.containers {
            set_containers(&mut request["object"]["spec"], count);
        }
        let (repaired, object) = self.sent(policy, "repaired", self.repaired, request.clone())?;
        let object = object.with_context(|| format!("{} is not repaired", self.name))?;
        request.insert("object".to_owned(), object);
        let (accepted, object) = self.sent(policy, "accepted", self.accepted, request)?;
        ensure!(object.is_none(), "{} is repaired twice", self.name);
        Ok([accepted, repaired])
    }

    /// Sends a request. Returns the changed object too. A rejection is an error.
    fn sent(
        &self,
        policy: &MeteredPolicy,
        expected: &'static str,
        budget: Option<ScenarioBudget>,
        request: AdmissionRequest,
    ) -> Result<(Scenario, Option<Value>)> {
        let payload = payload(&request, &self.settings)?;
        let (answer, mut cost) = policy.cost(&payload, &nothing_granted())?;
        cost.added_bytes = added_bytes(&answer, request["object"].to_string().len())?;
        let answer: ValidationResponse = serde_json::from_slice(&answer)?;
        ensure!(answer.accepted, "{} is rejected", self.name);
        let scenario = Scenario {
            title: format!("{}, {expected}", self.name),
            answer: expected,
            containers: self.containers,
            budget,
            settings: self.settings.clone(),
            request,
            cost,
        };
        Ok((scenario, answer.mutated_object))
    }
}

/// Gives a Pod this number of containers, each with its own image, and a check for every second one. The first init
/// container stays.
fn set_containers(spec: &mut Value, count: u64) {
    let numbered = |model: &Value, name: &str, number: u64| {
        let mut container = model.clone();
        container["name"] = json!(format!("{name}-{number}"));
        container["image"] = json!(format!("registry.example.com/team/app-{number:04}:v1.2.3"));
        container
    };
    let (containers, init) = (&spec["containers"], &spec["initContainers"]);
    let checks = (0..count).step_by(2);
    let checks = checks.map(|number| numbered(&init[1], "imagecheck", number));
    let init: Value = [init[0].clone()].into_iter().chain(checks).collect();
    spec["containers"] = (0..count)
        .map(|number| numbered(&containers[0], "container", number))
        .collect();
    spec["initContainers"] = init;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_container_gets_a_check() {
        let image = |number| format!("registry.example.com/team/app-{number}:v1.2.3");
        let mut spec = json!({
            "containers": [{"name": "a", "command": ["a"]}, {"name": "b"}],
            "initContainers": [{"name": "copy"}, {"name": "imagecheck-0", "command": ["c"]}],
        });
        set_containers(&mut spec, 3);
        let expected = json!({
            "containers": [
                {"name": "container-0", "image": image("0000"), "command": ["a"]},
                {"name": "container-1", "image": image("0001"), "command": ["a"]},
                {"name": "container-2", "image": image("0002"), "command": ["a"]},
            ],
            "initContainers": [
                {"name": "copy"},
                {"name": "imagecheck-0", "image": image("0000"), "command": ["c"]},
                {"name": "imagecheck-2", "image": image("0002"), "command": ["c"]},
            ],
        });
        assert_eq!(spec, expected);
    }
}
