//! The scenarios in `xtask/budgets.yaml`: requests as a cluster sends them, with the expected
//! answers. Some requests are enlarged to measure how the cost grows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
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
    pub(crate) name: String,
    /// The name of a file in `test_data/reviews`, without its extension.
    review: String,
    /// The number of containers that the Pod gets. If it is unset, the containers stay as they are.
    containers: Option<u64>,
    /// The size to which the object is enlarged. If it is unset, the object is not enlarged.
    kibibytes: Option<usize>,
    /// The policy's settings.
    settings: Settings,
    /// The expected answers, and the budget of each.
    answers: BTreeMap<ExpectedAnswer, ScenarioBudget>,
}

/// The answer that a scenario expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ExpectedAnswer {
    /// Accepted, without a change.
    Accepted,
    /// Accepted, with a changed object.
    Repaired,
    /// Rejected.
    Rejected,
}

/// The budget of a scenario.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ScenarioBudget {
    /// The largest number of instructions.
    pub(crate) instructions: Option<u64>,
    /// The largest ratio of this policy's time to the time of a policy that does nothing. This limit
    /// is shown, but never checked.
    pub(crate) times: Option<f64>,
}

/// A request and its expected answer.
pub(crate) struct Scenario {
    /// The name of the scenario's template.
    pub(crate) name: String,
    /// The number of containers, if the template sets it.
    pub(crate) containers: Option<u64>,
    /// The expected answer. Another answer is an error, because its cost can't be compared with the
    /// budget.
    pub(crate) answer: ExpectedAnswer,
    /// The budget of this scenario.
    pub(crate) budget: ScenarioBudget,
    /// The policy's settings.
    pub(crate) settings: Settings,
    /// The request.
    pub(crate) request: AdmissionRequest,
}

/// Every scenario of the templates with its cost.
pub(crate) fn all_costs(
    policy: &MeteredPolicy,
    templates: &[ScenarioTemplate],
    root: &Path,
) -> Result<Vec<(Scenario, RequestCost)>> {
    let mut costs = Vec::new();
    for template in templates {
        let scenarios = template.scenarios(root, policy);
        for scenario in scenarios.with_context(|| format!("in scenario {}", template.name))? {
            let cost = scenario.cost(policy);
            let cost = cost.with_context(|| format!("in scenario {}", scenario.title()))?;
            costs.push((scenario, cost));
        }
    }
    Ok(costs)
}

impl ScenarioTemplate {
    /// A scenario for each expected answer. For the answer *accepted*, the request has an object
    /// that the policy has already repaired.
    pub(crate) fn scenarios(&self, root: &Path, policy: &MeteredPolicy) -> Result<Vec<Scenario>> {
        let path = root.join(format!("test_data/reviews/{}.json", self.review));
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut request = parse_review(&text).with_context(|| format!("in {}", path.display()))?;
        let object = request.get_mut("object");
        let object = object.context("the review has no object")?;
        if let Some(count) = self.containers {
            set_container_count(object, count)?;
        }
        if let Some(kibibytes) = self.kibibytes {
            enlarge(object, kibibytes * 1024)?;
        }
        let scenario = |answer, budget, request| Scenario {
            name: self.name.clone(),
            containers: self.containers,
            answer,
            budget,
            settings: self.settings.clone(),
            request,
        };
        let mut scenarios = Vec::new();
        for (&answer, &budget) in &self.answers {
            let mut request = request.clone();
            if answer == ExpectedAnswer::Accepted {
                let first = scenario(ExpectedAnswer::Repaired, budget, request.clone());
                let text = policy.answer(&first.payload()?)?;
                first.check(&text)?;
                let answer: ValidationResponse = serde_json::from_slice(&text)?;
                let repaired = answer.mutated_object.context("no changed object")?;
                request.insert("object".to_owned(), repaired);
            }
            scenarios.push(scenario(answer, budget, request));
        }
        Ok(scenarios)
    }
}

impl Scenario {
    /// The title of the scenario's row in the printed table.
    pub(crate) fn title(&self) -> String {
        let answer = format!("{:?}", self.answer).to_lowercase();
        format!("{}, {answer}", self.name)
    }

    /// The payload for the guest.
    pub(crate) fn payload(&self) -> Result<Vec<u8>> {
        payload(&self.request, &self.settings)
    }

    /// The cost of the request.
    ///
    /// # Errors
    /// When there is no answer, or when the answer is not the expected one.
    pub(crate) fn cost(&self, policy: &MeteredPolicy) -> Result<RequestCost> {
        let payload = self.payload()?;
        let (answer, mut cost) = policy.cost(&payload, &nothing_granted())?;
        self.check(&answer)?;
        let request: Value = serde_json::from_slice(&payload)?;
        let object_bytes = request["request"]["object"].to_string().len();
        cost.added_bytes = added_bytes(&answer, object_bytes)?;
        Ok(cost)
    }

    /// Checks that the guest's answer is the expected one.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<()> {
        let response: ValidationResponse =
            serde_json::from_slice(answer).context("the answer can't be read")?;
        let got = match (response.accepted, response.mutated_object) {
            (true, None) => ExpectedAnswer::Accepted,
            (true, Some(_)) => ExpectedAnswer::Repaired,
            (false, None) => ExpectedAnswer::Rejected,
            (false, Some(_)) => bail!("rejected and repaired"),
        };
        ensure!(
            got == self.answer,
            "it was {got:?} and not {:?}: {}",
            self.answer,
            response.message.unwrap_or_default()
        );
        Ok(())
    }
}

/// Gives a Pod this number of containers, and an image check for every second container. The first init
/// container stays.
fn set_container_count(pod: &mut Value, count: u64) -> Result<()> {
    let copy = |list: &str, index: usize, name: String, number: u64| -> Result<Value> {
        let container = pod["spec"][list].get(index);
        let mut container = container
            .with_context(|| format!("no {list}[{index}]"))?
            .clone();
        container["name"] = json!(name);
        container["image"] = json!(format!("registry.example.com/team/app-{number:04}:v1.2.3"));
        Ok(container)
    };
    let first = pod["spec"]["initContainers"].get(0);
    let mut checks = vec![first.context("no init container")?.clone()];
    let mut containers = Vec::new();
    for number in 0..count {
        if number % 2 == 0 {
            let name = format!("imagecheck-{}", number / 2);
            checks.push(copy("initContainers", 1, name, number)?);
        }
        let name = format!("container-{number}");
        containers.push(copy("containers", 0, name, number)?);
    }
    pod["spec"]["initContainers"] = Value::Array(checks);
    pod["spec"]["containers"] = Value::Array(containers);
    Ok(())
}

/// Gives a Pod environment variables and an annotation, so that the Pod has about `size` bytes. The
/// annotation is like that of `kubectl apply`: JSON in a string, with many escapes.
fn enlarge(pod: &mut Value, size: usize) -> Result<()> {
    let half = size.saturating_sub(serde_json::to_vec(pod)?.len()) / 2;
    let variable = |number: usize| {
        json!({
            "name": format!("VARIABLE_{number:05}"),
            "value": "https://example.com/builds/0193a1b2-7b1c-4a53-8f2e-b2b8f6a8a111?step=test",
        })
    };
    let each = serde_json::to_vec(&variable(0))?.len() + 1;
    let variables = (0..half.div_ceil(each)).map(variable).collect();
    pod["spec"]["containers"][0]["env"] = Value::Array(variables);
    let entry = r#"{"name":"BUILDKITE_COMMAND","value":"make test"},"#;
    let applied = entry.repeat(half.div_ceil(entry.len() + entry.matches('"').count()));
    pod["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_stack() -> AdmissionRequest {
        let path = crate::workspace::root().join("test_data/reviews/agent-stack-pod-create.json");
        parse_review(&fs::read_to_string(path).expect("a review")).expect("a request")
    }

    #[test]
    fn a_pod_with_many_containers_has_half_as_many_checks() {
        let mut pod = agent_stack()["object"].clone();
        set_container_count(&mut pod, 10).expect("a Pod");
        let length = |list: &str| pod["spec"][list].as_array().map_or(0, Vec::len);
        assert_eq!(
            (length("containers"), length("initContainers")),
            (10, 1 + 5)
        );
        let images = &pod["spec"]["containers"];
        assert_ne!(images[0]["image"], images[1]["image"]);
        assert_eq!(
            images[2]["image"],
            pod["spec"]["initContainers"][2]["image"]
        );
    }

    #[test]
    fn an_object_is_enlarged_to_the_size() {
        for kibibytes in [64, 1024] {
            let mut pod = agent_stack()["object"].clone();
            enlarge(&mut pod, kibibytes * 1024).expect("a Pod");
            let size = serde_json::to_vec(&pod).expect("JSON").len();
            assert!(
                (kibibytes * 1024..kibibytes * 1024 + 512).contains(&size),
                "{kibibytes} KiB: {size}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_not_the_expected_one_is_an_error() {
        let answers: [(ExpectedAnswer, &[u8]); 3] = [
            (ExpectedAnswer::Accepted, br#"{"accepted":true}"#),
            (
                ExpectedAnswer::Repaired,
                br#"{"accepted":true,"mutated_object":{}}"#,
            ),
            (ExpectedAnswer::Rejected, br#"{"accepted":false}"#),
        ];
        for (expected, _) in answers {
            let scenario = Scenario {
                name: "x".to_owned(),
                containers: None,
                answer: expected,
                budget: ScenarioBudget::default(),
                settings: Settings::new(),
                request: agent_stack(),
            };
            for (got, text) in answers {
                assert_eq!(scenario.check(text).is_ok(), got == expected, "{got:?}");
            }
            assert!(scenario.check(b"nonsense").is_err());
        }
    }
}
