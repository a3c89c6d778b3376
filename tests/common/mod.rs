//! Helpers that the tests share: admission requests, a registry with fixed answers, and the answers
//! of this policy.

pub(crate) mod cel;
pub(crate) mod every_setting;

use std::collections::BTreeMap;

use consistent_pull_policy::evaluate;
use consistent_pull_policy::lookup::RegistryLookups;
use oci_spec::image::Platform;
use serde_json::{Value, json};

/// The digest for a number. Different numbers give different digests.
pub(crate) fn digest(number: usize) -> String {
    format!("sha256:{number:064x}")
}

/// A fake of all registries, with fixed answers. The fake remembers the images of all calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeRegistry {
    /// The digest of an image, or the host's text for a failed lookup, by the image's full name.
    pub answers: BTreeMap<String, Result<String, String>>,
    /// The platforms of indexes, by `repository@digest`. `None` means that the image has no index.
    pub platforms: BTreeMap<String, Result<Option<Vec<Platform>>, String>>,
    /// The images of all calls, in their order.
    pub asked: Vec<String>,
}

impl RegistryLookups for FakeRegistry {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        self.asked.push(image.to_owned());
        self.answers
            .get(image)
            .cloned()
            .unwrap_or_else(|| Err("the fake registry has no such image".to_owned()))
    }

    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String> {
        self.asked.push(image.to_owned());
        self.platforms.get(image).cloned().unwrap_or(Ok(None))
    }
}

/// A registry with a digest, or the host's text for a failed lookup, for each of these images.
pub(crate) fn registry_with_answers(answers: &[(&str, Result<String, &str>)]) -> FakeRegistry {
    FakeRegistry {
        answers: answers
            .iter()
            .map(|(image, answer)| ((*image).to_owned(), answer.clone().map_err(str::to_owned)))
            .collect(),
        ..FakeRegistry::default()
    }
}

/// A registry that is unreachable for the images `a:1` and `b:1`.
pub(crate) fn unreachable_registry() -> FakeRegistry {
    let unavailable = Err("Server error: url x, code: 503");
    registry_with_answers(&[
        ("docker.io/library/a:1", unavailable.clone()),
        ("docker.io/library/b:1", unavailable),
    ])
}

/// The CREATE request of a Pod.
pub(crate) fn pod_create(spec: &Value) -> Value {
    json!({
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "userInfo": {},
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "p-", "namespace": "default"},
            "spec": spec,
        },
    })
}

/// The request with the name of a user. The other requests built here name no user, as in an audit.
pub(crate) fn of_user(mut request: Value) -> Value {
    request["userInfo"] = json!({"username": "admin"});
    request
}

/// The UPDATE request that changes the image of a Pod's only container.
pub(crate) fn image_update(stored: &str, requested: &str) -> Value {
    let container = container("a", requested, "IfNotPresent");
    let mut request = pod_create(&json!({"containers": [container]}));
    request["operation"] = "UPDATE".into();
    request["oldObject"] = request["object"].clone();
    request["oldObject"]["spec"]["containers"][0]["image"] = stored.into();
    request
}

/// The spec of a Pod whose image check has a weaker pull policy than the container that it guards.
pub(crate) fn pod_with_weak_check() -> Value {
    json!({
        "initContainers": [container("imagecheck-0", "a:1", "IfNotPresent")],
        "containers": [container("a", "a:1", "Always")],
    })
}

/// A container with a pull policy.
pub(crate) fn container(name: &str, image: &str, pull_policy: &str) -> Value {
    json!({"name": name, "image": image, "imagePullPolicy": pull_policy})
}

/// The answer of this policy to an admission request, as JSON.
#[derive(Debug)]
pub(crate) struct Answer(pub Value);

impl Answer {
    pub(crate) fn accepted(&self) -> bool {
        self.0["accepted"].as_bool().expect("accepted is a boolean")
    }

    pub(crate) fn message(&self) -> &str {
        self.0["message"].as_str().unwrap_or_default()
    }

    /// The changed object, if this policy changed the object.
    pub(crate) fn mutated(&self) -> Option<&Value> {
        self.0
            .get("mutated_object")
            .filter(|object| !object.is_null())
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.0["warnings"]
            .as_array()
            .map(|lines| lines.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }

    /// The entries of an audit annotation that is a list in JSON. The result is empty if the
    /// annotation is missing.
    pub(crate) fn audited(&self, key: &str) -> Vec<Value> {
        match self.0["audit_annotations"][key].as_str() {
            Some(text) => serde_json::from_str(text).expect("an audit annotation is JSON"),
            None => Vec::new(),
        }
    }
}

/// The answer to a request under these settings, with these answers of registries.
pub(crate) fn validate_with(
    request: &Value,
    settings: &Value,
    registry: &mut FakeRegistry,
) -> Answer {
    let payload = json!({"request": request, "settings": settings}).to_string();
    answer_to_payload(&payload, registry)
}

/// The answer to a payload. A host sends a request and the settings in one payload.
pub(crate) fn answer_to_payload(payload: &str, registry: &mut FakeRegistry) -> Answer {
    let answer = evaluate::validate(payload.as_bytes(), registry).expect("an answer");
    Answer(serde_json::from_slice(&answer).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&answer));
    }))
}

/// A payload whose object has exactly this text as its Pod spec. The settings in the payload turn the
/// record off.
pub(crate) fn payload_with_pod_spec(spec: &str) -> String {
    format!(
        r#"{{"request":{{"kind":{{"group":"","kind":"Pod"}},"operation":"CREATE","object":{{"spec":{spec}}}}},"settings":{{"recordChanges":false}}}}"#
    )
}

/// The text of a Pod spec whose image check has a weaker pull policy than the container that it
/// guards. The closing brace is missing, so that a test can add fields.
pub(crate) const OPEN_SPEC_WITH_WEAK_CHECK: &str = r#"{"initContainers":[{"name":"imagecheck-0","image":"a:1","imagePullPolicy":"Never"}],
    "containers":[{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent"}]"#;

/// The settings of the copy: these settings with `mode: Reject` and `registry.maxLookups: 0`.
pub(crate) fn copy_settings(settings: &Value) -> Value {
    let mut copy = settings.clone();
    copy["mode"] = json!("Reject");
    copy["registry"]["maxLookups"] = json!(0);
    copy
}

/// The answer to a request under these settings. No registry has any image.
pub(crate) fn validate(request: &Value, settings: &Value) -> Answer {
    validate_with(request, settings, &mut FakeRegistry::default())
}

/// The message about wrong settings. `None` if the settings are valid.
pub(crate) fn settings_problems(settings: &Value) -> Option<String> {
    let answer = evaluate::validate_settings(settings.to_string().as_bytes());
    let answer = answer.expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    match answer["valid"].as_bool() {
        Some(true) => None,
        _ => Some(answer["message"].as_str().expect("a message").to_owned()),
    }
}

/// The request of an `AdmissionReview` that an API server or the audit scanner has sent, by its file
/// in `test_data/reviews`.
pub(crate) fn captured(name: &str) -> Value {
    let path = format!(
        "{}/test_data/reviews/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut review: Value = serde_json::from_str(&text).expect("a captured review is JSON");
    review["request"].take()
}
