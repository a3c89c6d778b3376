//! The scenarios in `xtask/budgets.yaml`: requests as a cluster sends them. Each is sent twice: as it was captured,
//! so that this policy repairs its object, and with the repaired object, which this policy accepts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::host::capabilities::nothing_granted;
use crate::host::policy_module::{ValidationResponse, payload};
use crate::host::request::{AdmissionRequest, parse_review};
use crate::host::settings::Settings;

use super::request_cost::{MeteredPolicy, RequestCost};

/// An entry of the list `scenarios` in `xtask/budgets.yaml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioTemplate {
    /// A short description.
    name: String,
    /// The name of a file in `test_data/reviews`, without its extension.
    review: String,
    /// The policy's settings.
    settings: Settings,
    /// The budget of the request with the repaired object.
    accepted: ScenarioBudget,
    /// The budget of the captured request.
    repaired: ScenarioBudget,
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
    pub(crate) budget: ScenarioBudget,
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
        let request = parse_review(&text).with_context(|| format!("in {}", path.display()))?;
        let (repaired, object) = self.sent(policy, "repaired", self.repaired, request.clone())?;
        let object = object.with_context(|| format!("{} is not repaired", self.name))?;
        let mut request = request;
        request.insert("object".to_owned(), object);
        let (accepted, object) = self.sent(policy, "accepted", self.accepted, request)?;
        ensure!(object.is_none(), "{} is repaired twice", self.name);
        Ok([accepted, repaired])
    }

    /// Sends a request. Returns the changed object too. A rejection is an error.
    fn sent(
        &self,
        policy: &MeteredPolicy,
        expected: &str,
        budget: ScenarioBudget,
        request: AdmissionRequest,
    ) -> Result<(Scenario, Option<Value>)> {
        let payload = payload(&request, &self.settings)?;
        let (answer, cost) = policy.cost(&payload, &nothing_granted())?;
        let answer: ValidationResponse = serde_json::from_slice(&answer)?;
        ensure!(answer.accepted, "{} is rejected", self.name);
        let scenario = Scenario {
            title: format!("{}, {expected}", self.name),
            budget,
            settings: self.settings.clone(),
            request,
            cost,
        };
        Ok((scenario, answer.mutated_object))
    }
}
