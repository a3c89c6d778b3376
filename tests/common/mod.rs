//! What the tests share: requests, a registry that answers from a table, and answers, read.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;

use consistent_pull_policy::evaluate;
use consistent_pull_policy::lookup::Registries;
use oci_spec::image::Platform;
use serde_json::{Value, json};

/// A digest that differs for each number.
pub fn digest(number: usize) -> String {
    format!("sha256:{number:064x}")
}

/// A registry that answers from a table, and remembers what it was asked.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub answers: BTreeMap<String, Result<String, String>>,
    /// The platforms of indexes, by `repository@digest`.
    pub platforms: BTreeMap<String, Result<Option<Vec<Platform>>, String>>,
    pub asked: Vec<String>,
}

impl Registries for Table {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        self.asked.push(image.to_owned());
        self.answers
            .get(image)
            .cloned()
            .unwrap_or_else(|| Err("no such image in the table".to_owned()))
    }

    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String> {
        self.asked.push(image.to_owned());
        self.platforms.get(image).cloned().unwrap_or(Ok(None))
    }
}

/// The admission request of a Pod that is created.
pub fn pod_create(spec: &Value) -> Value {
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

/// The request of a Deployment with this template.
pub fn deployment(spec: &Value) -> Value {
    let mut request = pod_create(spec);
    request["kind"] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    request["object"] = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "annotations": {"other": "kept"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec},
        },
    });
    request
}

/// A container with a policy.
pub fn container(name: &str, image: &str, policy: &str) -> Value {
    json!({"name": name, "image": image, "imagePullPolicy": policy})
}

/// An answer of the policy.
#[derive(Debug)]
pub struct Answer(pub Value);

impl Answer {
    pub fn accepted(&self) -> bool {
        self.0["accepted"].as_bool().expect("accepted is a boolean")
    }

    pub fn message(&self) -> &str {
        self.0["message"].as_str().unwrap_or_default()
    }

    pub fn mutated(&self) -> Option<&Value> {
        self.0
            .get("mutated_object")
            .filter(|object| !object.is_null())
    }

    pub fn warnings(&self) -> Vec<&str> {
        self.0["warnings"]
            .as_array()
            .map(|lines| lines.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }

    /// An audit annotation, which is a list in JSON.
    pub fn audited(&self, key: &str) -> Vec<Value> {
        match self.0["audit_annotations"][key].as_str() {
            Some(text) => serde_json::from_str(text).expect("an audit annotation is JSON"),
            None => Vec::new(),
        }
    }
}

pub fn validate_with(request: &Value, settings: &Value, registry: &mut Table) -> Answer {
    let payload = json!({"request": request, "settings": settings}).to_string();
    let answer = evaluate::validate(payload.as_bytes(), registry).expect("an answer");
    Answer(serde_json::from_slice(&answer).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&answer));
    }))
}

pub fn validate(request: &Value, settings: &Value) -> Answer {
    validate_with(request, settings, &mut Table::default())
}

/// The problems of settings; none when they are valid.
pub fn settings_problems(settings: &Value) -> Option<String> {
    let answer = evaluate::validate_settings(settings.to_string().as_bytes());
    let answer = answer.expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    match answer["valid"].as_bool() {
        Some(true) => None,
        _ => Some(answer["message"].as_str().expect("a message").to_owned()),
    }
}

/// A captured `AdmissionReview`'s request.
pub fn captured(name: &str) -> Value {
    let path = format!(
        "{}/test_data/reviews/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut review: Value = serde_json::from_str(&text).expect("a captured review is JSON");
    review["request"].take()
}

/// The lists of a Pod spec in which images stand, with the keys of image and policy.
pub fn places(spec: &Value) -> Vec<(&'static str, usize, &Value)> {
    let mut places = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            places.push((list, index, container));
        }
    }
    places
}
