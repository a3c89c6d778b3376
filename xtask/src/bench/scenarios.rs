//! What is measured, as `xtask/budgets.yaml` describes it: requests as a cluster sends them, and
//! requests that grow.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::request::{self, AdmissionRequest};
use crate::host::response::ValidationResponse;
use crate::host::settings::Settings;
use crate::host::{self};

use super::meter::Metered;

/// One entry of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// In a few words, for a person.
    pub(crate) name: String,
    /// A file in `test_data/reviews`, without its extension.
    review: String,
    /// Makes a Pod of so many containers of it.
    containers: Option<u64>,
    /// Makes its object so large.
    kibibytes: Option<usize>,
    /// The policy's settings.
    settings: Settings,
    /// What it is answered with, and what that may cost.
    answers: BTreeMap<Answer, Budget>,
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Answer {
    /// Without a change.
    Accepted,
    /// With a changed object.
    Repaired,
    /// Not let through.
    Rejected,
}

/// What one answer may cost.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Budget {
    /// At most so many.
    pub(crate) instructions: Option<u64>,
    /// At most so much more time than a policy that does nothing takes; only shown.
    pub(crate) times: Option<f64>,
}

/// A request, and the answer that it gets.
pub(crate) struct Scenario {
    /// Its description's.
    pub(crate) name: String,
    /// How many containers were asked for.
    pub(crate) containers: Option<u64>,
    /// What has to come back, so that nobody measures the wrong thing.
    pub(crate) answer: Answer,
    /// What that may cost.
    pub(crate) budget: Budget,
    /// The policy's settings.
    pub(crate) settings: Settings,
    /// What is asked.
    pub(crate) request: AdmissionRequest,
}

impl Description {
    /// A scenario for each answer. The policy itself says what the repaired object is.
    pub(crate) fn scenarios(&self, root: &Path, policy: &Metered) -> Result<Vec<Scenario>> {
        let path = root.join("test_data/reviews").join(&self.review);
        let path = path.with_extension("json");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut request = request::read(&text).with_context(|| format!("in {}", path.display()))?;
        let object = request
            .object
            .as_mut()
            .context("the review has no object")?;
        if let Some(count) = self.containers {
            crowd(object, count)?;
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
            if answer == Answer::Accepted {
                let first = scenario(Answer::Repaired, budget, request.clone());
                let text = policy.answer(&first.payload()?)?;
                first.check(&text)?;
                request.object =
                    serde_json::from_slice::<ValidationResponse>(&text)?.mutated_object;
            }
            scenarios.push(scenario(answer, budget, request));
        }
        Ok(scenarios)
    }
}

impl Scenario {
    /// Its row's.
    pub(crate) fn title(&self) -> String {
        let answer = format!("{:?}", self.answer).to_lowercase();
        format!("{}, {answer}", self.name)
    }

    /// What the guest gets.
    pub(crate) fn payload(&self) -> Result<Vec<u8>> {
        host::payload(&self.request, &self.settings)
    }

    /// Whether the guest's answer is the expected one.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<()> {
        let response: ValidationResponse =
            serde_json::from_slice(answer).context("the answer is no answer")?;
        let got = match (response.accepted, response.mutated_object) {
            (true, None) => Answer::Accepted,
            (true, Some(_)) => Answer::Repaired,
            (false, None) => Answer::Rejected,
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

/// Gives a Pod so many containers, and half as many checks.
fn crowd(pod: &mut Value, count: u64) -> Result<()> {
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

/// Gives a Pod so much more environment and annotations that it is `size` bytes long. The annotation
/// is what `kubectl apply` leaves: JSON in a string, full of escapes.
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
        request::read(&fs::read_to_string(path).expect("a review")).expect("a request")
    }

    #[test]
    fn a_crowd_has_half_of_its_checks() {
        let mut pod = agent_stack().object.expect("a Pod");
        crowd(&mut pod, 10).expect("a Pod");
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
    fn an_object_is_as_large_as_it_should_be() {
        for kibibytes in [64, 1024] {
            let mut pod = agent_stack().object.expect("a Pod");
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
        let answers: [(Answer, &[u8]); 3] = [
            (Answer::Accepted, br#"{"accepted":true}"#),
            (
                Answer::Repaired,
                br#"{"accepted":true,"mutated_object":{}}"#,
            ),
            (Answer::Rejected, br#"{"accepted":false}"#),
        ];
        for (expected, _) in answers {
            let scenario = Scenario {
                name: "x".to_owned(),
                containers: None,
                answer: expected,
                budget: Budget::default(),
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
