//! Requests as a cluster sends them. Each is sent twice: as it was captured, so that this policy
//! repairs its object, and with the repaired object, which this policy accepts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use xtask::host::evaluation::ValidationResponse;
use xtask::host::input::{AdmissionRequest, Settings, parse_review, payload};
use xtask::host::module::Module;
use xtask::host::registry::nothing_granted;

use crate::cost::{self, Cost};
use crate::limits::growth_percent;

/// A captured review, and the settings to measure it with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Review {
    /// A short description.
    name: String,
    /// The name of a file in `test_data/reviews`, without its extension.
    file: String,
    /// The number of containers that the Pod gets. Without it, the containers stay as they are.
    containers: Option<u64>,
    /// The policy's settings.
    settings: Settings,
    /// The largest number of instructions, if the Pod is accepted.
    accepted: Option<u64>,
    /// The largest number of instructions, if the Pod is repaired.
    repaired: Option<u64>,
}

/// A request and its cost.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) name: String,
    /// *accepted* or *repaired*.
    pub(crate) answer: &'static str,
    containers: Option<u64>,
    /// The largest number of instructions.
    pub(crate) most: Option<u64>,
    pub(crate) cost: Cost,
}

impl Review {
    /// Sends both requests.
    pub(crate) fn measure(&self, root: &Path, module: &Module) -> Result<[Measured; 2]> {
        let path = root.join(format!("test_data/reviews/{}.json", self.file));
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut request = parse_review(&text).with_context(|| format!("in {}", path.display()))?;
        if let Some(count) = self.containers {
            set_containers(&mut request["object"]["spec"], count);
        }
        let (repaired, object) = self.send(module, "repaired", self.repaired, &request)?;
        let object = object.with_context(|| format!("{} is not repaired", self.name))?;
        request.insert("object".to_owned(), object);
        let (accepted, object) = self.send(module, "accepted", self.accepted, &request)?;
        ensure!(object.is_none(), "{} is repaired twice", self.name);
        Ok([accepted, repaired])
    }

    /// Sends a request. Returns the changed object too. A rejection is an error.
    fn send(
        &self,
        module: &Module,
        answer: &'static str,
        most: Option<u64>,
        request: &AdmissionRequest,
    ) -> Result<(Measured, Option<Value>)> {
        let payload = payload(request, &self.settings);
        let object_bytes = request["object"].to_string().len();
        let (bytes, cost) = cost::of(module, &nothing_granted(), &payload, object_bytes)?;
        let response: ValidationResponse = serde_json::from_slice(&bytes)?;
        ensure!(
            response.accepted,
            "{} is rejected: {:?}",
            self.name,
            response.message
        );
        let measured = Measured {
            name: format!("{}, {answer}", self.name),
            answer,
            containers: self.containers,
            most,
            cost,
        };
        Ok((measured, response.mutated_object))
    }
}

/// By how many per cent a container costs more in the largest Pod than in the second largest one,
/// for accepted and for repaired Pods. The cost of the smallest Pod is subtracted from both.
pub(crate) fn container_growths(measured: &[Measured]) -> Vec<(&'static str, f64)> {
    let growth = |answer| {
        let sized = measured.iter().filter(|one| one.answer == answer);
        let sized = sized.filter_map(|one| Some((one.containers?, one.cost.instructions)));
        let [few, more, most] = sized.collect::<Vec<_>>()[..] else {
            return None;
        };
        Some((answer, growth_percent(few, more, most)))
    };
    ["accepted", "repaired"]
        .into_iter()
        .filter_map(growth)
        .collect()
}

/// Gives a Pod this number of containers, each with its own image, and a check for every second
/// one. The first init container stays.
fn set_containers(spec: &mut Value, count: u64) {
    let numbered = |model: &Value, name: &str, number: u64| {
        let mut container = model.clone();
        container["name"] = json!(format!("{name}-{number}"));
        container["image"] = json!(format!("registry.example.com/team/app-{number:04}:v1.2.3"));
        container
    };
    let (containers, init) = (&spec["containers"], &spec["initContainers"]);
    let checks = (0..count)
        .step_by(2)
        .map(|number| numbered(&init[1], "imagecheck", number));
    let init: Value = [init[0].clone()].into_iter().chain(checks).collect();
    let containers = (0..count).map(|number| numbered(&containers[0], "container", number));
    spec["containers"] = containers.collect();
    spec["initContainers"] = init;
}
