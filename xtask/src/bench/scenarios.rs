//! What is measured: requests as a cluster sends them, and requests that grow.
//!
//! The captured reviews say what a request costs; the made ones say how the cost grows. Both stay
//! what they are between two versions of the policy, or the committed figures would mean nothing.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::host::capabilities::{AllowList, Failure, HostFunctions, ManifestDigests};
use crate::host::request::{self, AdmissionRequest};
use crate::host::response::ValidationResponse;
use crate::host::{self, Settings};

use super::guest::Guest;

/// What a scenario's answer has to be, so that nobody measures the wrong thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Accepted without a change.
    Accepted,
    /// Accepted with a patch.
    Repaired,
    /// Rejected.
    Rejected,
}

/// What is asked of the policy.
pub(crate) enum Question {
    /// `validate`
    Request(Box<AdmissionRequest>, Expected),
    /// `validate_settings`
    Settings,
}

/// What a scenario has more or less of than others of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// So many guarded containers.
    Containers(u64),
    /// Bytes of the object.
    Bytes,
}

/// One row of the tables.
pub(crate) struct Scenario {
    /// Stable: the committed figures are found by it.
    pub(crate) name: String,
    /// In a few words, for a person.
    pub(crate) title: String,
    /// What grows from this scenario to its neighbours, where anything does.
    pub(crate) axis: Option<Axis>,
    /// The policy's settings.
    pub(crate) settings: Settings,
    /// What is asked.
    pub(crate) question: Question,
}

impl Scenario {
    /// The waPC function that is called.
    pub(crate) fn operation(&self) -> &'static str {
        match self.question {
            Question::Request(..) => "validate",
            Question::Settings => "validate_settings",
        }
    }

    /// The name without the count in it.
    pub(crate) fn family(&self) -> String {
        match self.axis {
            Some(Axis::Containers(count)) => self.name.replace(&format!("-{count}-"), "-"),
            _ => self.name.clone(),
        }
    }

    /// What the guest gets.
    pub(crate) fn payload(&self) -> Result<Vec<u8>> {
        match &self.question {
            Question::Request(request, _) => host::payload(request, &self.settings),
            Question::Settings => {
                serde_json::to_vec(&self.settings).context("cannot serialise the settings")
            }
        }
    }

    /// Whether the guest's answer is the expected one.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<()> {
        let value: Value = serde_json::from_slice(answer).context("the answer is not JSON")?;
        let flag = |name: &str| value.get(name).and_then(Value::as_bool);
        let right = match &self.question {
            Question::Settings => flag("valid") == Some(true),
            Question::Request(_, expected) => {
                let mutated = value
                    .get("mutated_object")
                    .is_some_and(|object| !object.is_null());
                match (flag("accepted"), mutated) {
                    (Some(true), false) => *expected == Expected::Accepted,
                    (Some(true), true) => *expected == Expected::Repaired,
                    (Some(false), false) => *expected == Expected::Rejected,
                    _ => false,
                }
            }
        };
        if !right {
            let text = String::from_utf8_lossy(answer);
            bail!(
                "scenario {}: not the expected answer: {}",
                self.name,
                crate::table::shorten(&text, 600)
            );
        }
        Ok(())
    }
}

/// A registry that knows every image, at once.
struct Registry;

impl ManifestDigests for Registry {
    fn manifest_digest(&self, _: &str) -> Result<String, Failure> {
        Ok(format!(
            r#"{{"digest":"sha256:{}"}}"#,
            "0123456789abcdef".repeat(4)
        ))
    }
}

/// The host's side, the same for every scenario.
pub(crate) fn host_functions() -> Result<Arc<HostFunctions>> {
    let allowed = AllowList::new(&["oci/v1/manifest_digest"])?;
    Ok(Arc::new(HostFunctions::new(
        allowed,
        Arc::new(Registry),
        false,
    )))
}

/// How many containers the made Pods have.
pub(crate) const CONTAINERS: [u64; 3] = [10, 100, 1_000];

/// How large the objects are made, in KiB.
const KIBIBYTES: [usize; 3] = [64, 256, 1024];

/// Every scenario, in the tables' order. An accepted Pod is what the policy made of the repaired one,
/// which is how it sees its own work again when another webhook has been there in between.
pub(crate) fn all(root: &Path, policy: &Guest) -> Result<Vec<Scenario>> {
    let agent_stack = review(root, "agent-stack-pod-create.json")?;
    let fix = by_coverage();
    let mut list = Vec::from(pair(
        policy,
        "agent-stack",
        "agent-stack Pod",
        &agent_stack,
        &fix,
    )?);
    let mut add = |name: &str, title: &str, settings: &Settings, question| {
        list.push(Scenario {
            name: name.to_owned(),
            title: title.to_owned(),
            axis: None,
            settings: settings.clone(),
            question,
        });
    };
    add(
        "agent-stack-rejected",
        "agent-stack Pod, mode Reject",
        &settings(json!({"mode": "Reject", "imageChecks": {"coverage": "Reject"}})),
        ask(&agent_stack, Expected::Rejected),
    );
    add(
        "agent-stack-pinned",
        "agent-stack Pod, three digests looked up",
        &settings(json!({"registry": {"lookup": "Pin"}})),
        ask(&agent_stack, Expected::Repaired),
    );
    let patterns = hundred_patterns();
    add(
        "agent-stack-100-patterns",
        "agent-stack Pod, settings with 100 patterns",
        &patterns,
        ask(&agent_stack, Expected::Repaired),
    );
    add(
        "deployment",
        "Deployment, accepted",
        &fix,
        ask(&review(root, "deployment-create.json")?, Expected::Accepted),
    );
    add(
        "pod-update-label",
        "UPDATE of a Pod's label, untouched",
        &fix,
        ask(&review(root, "pod-update-label.json")?, Expected::Accepted),
    );
    add(
        "validate-settings",
        "validate_settings",
        &fix,
        Question::Settings,
    );
    add(
        "validate-settings-100-patterns",
        "validate_settings, 100 patterns",
        &patterns,
        Question::Settings,
    );
    list.extend(crowds(policy, &agent_stack, &CONTAINERS)?);
    list.extend(objects(policy, &agent_stack, &KIBIBYTES)?);
    Ok(list)
}

/// More of those that grow, for the plots.
pub(crate) fn in_between(root: &Path, policy: &Guest) -> Result<Vec<Scenario>> {
    let agent_stack = review(root, "agent-stack-pod-create.json")?;
    let mut list = crowds(policy, &agent_stack, &[250, 500, 750])?;
    list.extend(objects(policy, &agent_stack, &[16, 128, 512, 768])?);
    Ok(list)
}

/// Pods of so many containers.
fn crowds(policy: &Guest, agent_stack: &AdmissionRequest, counts: &[u64]) -> Result<Vec<Scenario>> {
    let mut list = Vec::new();
    for (family, text, images) in [
        ("own-image", "an image each", Images::Own),
        ("same-image", "one image", Images::Same),
    ] {
        for &count in counts {
            let request = with_object(agent_stack, crowd(agent_stack, count, images)?);
            let name = format!("{family}-{count}");
            let title = format!("Pod of {count} containers, {text}");
            for mut scenario in pair(policy, &name, &title, &request, &by_coverage())? {
                scenario.axis = Some(Axis::Containers(count));
                list.push(scenario);
            }
        }
    }
    Ok(list)
}

/// Pods of so many KiB.
fn objects(
    policy: &Guest,
    agent_stack: &AdmissionRequest,
    kibibytes: &[usize],
) -> Result<Vec<Scenario>> {
    let mut list = Vec::new();
    for &kibibytes in kibibytes {
        let request = with_object(agent_stack, large(agent_stack, kibibytes * 1024)?);
        let name = format!("object-{kibibytes}-kib");
        let title = format!("agent-stack Pod of {kibibytes} KiB");
        for mut scenario in pair(policy, &name, &title, &request, &by_coverage())? {
            scenario.axis = Some(Axis::Bytes);
            list.push(scenario);
        }
    }
    Ok(list)
}

/// The settings of most scenarios: every image needs a check, and missing ones are added.
fn by_coverage() -> Settings {
    settings(json!({"imageChecks": {"coverage": "Fix"}}))
}

/// A request that is repaired, and the same one with the repaired object.
fn pair(
    policy: &Guest,
    name: &str,
    title: &str,
    request: &AdmissionRequest,
    settings: &Settings,
) -> Result<[Scenario; 2]> {
    let mut accepted = Scenario {
        name: format!("{name}-accepted"),
        title: format!("{title}, accepted"),
        axis: None,
        settings: settings.clone(),
        question: ask(request, Expected::Accepted),
    };
    let repaired = Scenario {
        name: format!("{name}-repaired"),
        title: format!("{title}, repaired"),
        axis: None,
        settings: settings.clone(),
        question: ask(request, Expected::Repaired),
    };
    let call = policy.call(
        &host_functions()?,
        (),
        repaired.operation(),
        &repaired.payload()?,
    )?;
    repaired.check(&call.answer)?;
    let answer: ValidationResponse =
        serde_json::from_slice(&call.answer).context("the answer is no answer")?;
    if let (Question::Request(request, _), Some(object)) =
        (&mut accepted.question, answer.mutated_object)
    {
        request.object = Some(object);
    }
    Ok([accepted, repaired])
}

fn ask(request: &AdmissionRequest, expected: Expected) -> Question {
    Question::Request(Box::new(request.clone()), expected)
}

fn review(root: &Path, name: &str) -> Result<AdmissionRequest> {
    let path = root.join("test_data/reviews").join(name);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    request::read(&text).with_context(|| format!("in {}", path.display()))
}

fn settings(value: Value) -> Settings {
    match value {
        Value::Object(settings) => settings,
        _ => Settings::new(),
    }
}

/// None of them matches, so that each is tried with each image.
fn hundred_patterns() -> Settings {
    let patterns = |name: &str, count: usize| -> Vec<String> {
        (0..count)
            .map(|number| format!("registry.example.com/{name}-{number}/*"))
            .collect()
    };
    settings(json!({
        "imageChecks": {"coverage": "Fix"},
        "images": {"requireAlways": patterns("private", 40), "forbidAlways": patterns("mirror", 40)},
        "exempt": {"images": patterns("mesh", 20)},
    }))
}

fn with_object(request: &AdmissionRequest, object: Value) -> AdmissionRequest {
    AdmissionRequest {
        object: Some(object),
        ..request.clone()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Images {
    Own,
    Same,
}

/// A Pod of `count` containers that pull with `Always`, beside the init containers of agent-stack.
/// Every other image has a check, which is too weak; the others have none. So half of the checks are
/// raised, and as many are added.
fn crowd(request: &AdmissionRequest, count: u64, images: Images) -> Result<Value> {
    let mut object = request.object.clone().context("no object")?;
    let copy = |list: &str, index: usize, name: &str, image: &str| -> Result<Value> {
        let mut container = request
            .object
            .as_ref()
            .and_then(|object| object.get("spec")?.get(list)?.get(index))
            .with_context(|| format!("no {list}[{index}]"))?
            .clone();
        container["name"] = json!(name);
        container["image"] = json!(image);
        Ok(container)
    };
    let image = |number| match images {
        Images::Own => format!("registry.example.com/team/app-{number:04}:v1.2.3"),
        Images::Same => "registry.example.com/team/app:v1.2.3".to_owned(),
    };
    let mut checks = vec![copy(
        "initContainers",
        0,
        "copy-agent",
        "ghcr.io/buildkite/agent:3.92.1",
    )?];
    let mut containers = Vec::new();
    for number in 0..count {
        if number % 2 == 0 {
            let name = format!("imagecheck-{}", number / 2);
            checks.push(copy("initContainers", 1, &name, &image(number))?);
        }
        containers.push(copy(
            "containers",
            0,
            &format!("container-{number}"),
            &image(number),
        )?);
    }
    object["spec"]["initContainers"] = Value::Array(checks);
    object["spec"]["containers"] = Value::Array(containers);
    Ok(object)
}

/// The Pod with so much more environment and annotations that it is `size` bytes long. The annotation
/// is what `kubectl apply` leaves: JSON in a string, full of escapes.
fn large(request: &AdmissionRequest, size: usize) -> Result<Value> {
    let mut object = request.object.clone().context("no object")?;
    let missing = size.saturating_sub(serde_json::to_vec(&object)?.len());
    let mut variables = Vec::new();
    let mut length = 0;
    while length < missing / 2 {
        let variable = json!({
            "name": format!("VARIABLE_{:05}", variables.len()),
            "value": "https://example.com/builds/0193a1b2-7b1c-4a53-8f2e-b2b8f6a8a111?step=test",
        });
        length += serde_json::to_vec(&variable)?.len() + 1;
        variables.push(variable);
    }
    object["spec"]["containers"][0]["env"] = Value::Array(variables);
    let mut applied = String::new();
    let mut length = 0;
    while length < missing / 2 {
        let entry = r#"{"name":"BUILDKITE_COMMAND","value":"make test"},"#;
        length += entry.len() + entry.matches('"').count();
        applied.push_str(entry);
    }
    object["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_stack() -> AdmissionRequest {
        review(&crate::workspace::root(), "agent-stack-pod-create.json").expect("a review")
    }

    fn length(object: &Value, list: &str) -> usize {
        object["spec"][list].as_array().map_or(0, Vec::len)
    }

    #[test]
    fn a_crowd_has_half_of_its_checks() {
        let object = crowd(&agent_stack(), 10, Images::Own).expect("a Pod");
        assert_eq!(length(&object, "containers"), 10);
        assert_eq!(length(&object, "initContainers"), 1 + 5);
        assert_ne!(
            object["spec"]["containers"][0]["image"],
            object["spec"]["containers"][1]["image"]
        );
        let object = crowd(&agent_stack(), 10, Images::Same).expect("a Pod");
        assert_eq!(
            object["spec"]["containers"][0]["image"],
            object["spec"]["containers"][9]["image"]
        );
    }

    #[test]
    fn an_object_is_as_large_as_it_should_be() {
        for kibibytes in KIBIBYTES {
            let object = large(&agent_stack(), kibibytes * 1024).expect("a Pod");
            let size = serde_json::to_vec(&object).expect("JSON").len();
            assert!(
                (kibibytes * 1024..kibibytes * 1024 + 512).contains(&size),
                "{kibibytes} KiB: {size}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_not_the_expected_one_is_an_error() {
        let scenario = |question| Scenario {
            name: "x".to_owned(),
            title: String::new(),
            axis: None,
            settings: Settings::new(),
            question,
        };
        let accepted: &[u8] = br#"{"accepted":true}"#;
        let repaired: &[u8] = br#"{"accepted":true,"mutated_object":{}}"#;
        let rejected: &[u8] = br#"{"accepted":false}"#;
        for (expected, right) in [
            (Expected::Accepted, accepted),
            (Expected::Repaired, repaired),
            (Expected::Rejected, rejected),
        ] {
            let scenario = scenario(ask(&agent_stack(), expected));
            for answer in [accepted, repaired, rejected] {
                assert_eq!(
                    scenario.check(answer).is_ok(),
                    answer == right,
                    "{expected:?}"
                );
            }
            assert!(scenario.check(b"nonsense").is_err());
        }
        let settings = scenario(Question::Settings);
        assert!(settings.check(br#"{"valid":true}"#).is_ok());
        assert!(settings.check(br#"{"valid":false}"#).is_err());
    }
}
