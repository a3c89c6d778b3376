//! What an API server and Kubewarden do with the policies of the examples: which requests they send
//! to which policy.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cel::{Context, Env, Program};
use consistent_pull_policy::lookup::Client;
use consistent_pull_policy::validate;
use serde_json::{Value, json};

use super::strings;
use crate::common::captured;

/// A `ClusterAdmissionPolicy` with this module.
pub(super) struct Policy {
    /// The file's name, without its extension.
    pub(super) file: String,
    /// The policy's own name.
    pub(super) name: String,
    pub(super) spec: Value,
    /// The `matchConditions`.
    conditions: Vec<Program>,
}

impl Policy {
    pub(super) fn new(file: &str, manifest: &Value) -> Self {
        let spec = &manifest["spec"];
        let compile = |text: &str| {
            Env::stdlib()
                .compile(text)
                .unwrap_or_else(|e| panic!("{text}: {e}"))
        };
        Self {
            file: file.to_owned(),
            name: manifest["metadata"]["name"]
                .as_str()
                .expect("a name")
                .to_owned(),
            spec: spec.clone(),
            conditions: conditions(spec).map(compile).collect(),
        }
    }

    pub(super) fn is_mutating(&self) -> bool {
        self.spec["mutating"] == true
    }

    /// Whether the API server sends the request to this policy, if the namespace has no labels of
    /// its own.
    pub(super) fn selects(&self, request: &Value) -> bool {
        let namespace = request["namespace"].as_str().unwrap_or("default");
        self.selects_in(&json!({"kubernetes.io/metadata.name": namespace}), request)
    }

    /// Whether the API server sends the request to this policy, if the namespace has these labels.
    pub(super) fn selects_in(&self, namespace: &Value, request: &Value) -> bool {
        self.has_rule_for(request)
            && is_selected(&self.spec["namespaceSelector"], namespace)
            && is_selected(
                &self.spec["objectSelector"],
                &request["object"]["metadata"]["labels"],
            )
            && self
                .conditions
                .iter()
                .all(|condition| is_met(condition, request))
    }

    fn has_rule_for(&self, request: &Value) -> bool {
        let resource = &request["resource"];
        let mut name = resource["resource"]
            .as_str()
            .expect("a resource")
            .to_owned();
        if let Some(subresource) = request["subResource"].as_str() {
            name = format!("{name}/{subresource}");
        }
        let operation = request["operation"].as_str().expect("an operation");
        self.spec["rules"]
            .as_array()
            .expect("rules")
            .iter()
            .any(|rule| {
                strings(&rule["apiGroups"])
                    .contains(&resource["group"].as_str().unwrap_or_default())
                    && strings(&rule["resources"]).contains(&&*name)
                    && strings(&rule["operations"]).contains(&operation)
            })
    }

    /// The answer of this policy's module.
    fn answer(&self, request: &Value, registries: &mut Registries) -> Value {
        let payload = json!({"request": request, "settings": self.spec["settings"]}).to_string();
        let answer = validate::validate(payload.as_bytes(), registries).expect("an answer");
        serde_json::from_slice(&answer).expect("the answer is JSON")
    }
}

/// The expressions of `matchConditions`.
pub(super) fn conditions(spec: &Value) -> impl Iterator<Item = &str> {
    let conditions = spec["matchConditions"].as_array().into_iter().flatten();
    conditions.map(|condition| condition["expression"].as_str().expect("an expression"))
}

/// Whether a label selector matches these labels.
pub(super) fn is_selected(selector: &Value, labels: &Value) -> bool {
    let expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    let labels_to_match = selector["matchLabels"].as_object().into_iter().flatten();
    labels_to_match
        .into_iter()
        .all(|(key, value)| labels[key] == *value)
        && expressions.into_iter().all(|expression| {
            let label = labels[expression["key"].as_str().expect("a key")].as_str();
            let is_listed = label.is_some_and(|l| strings(&expression["values"]).contains(&l));
            match expression["operator"].as_str() {
                Some("Exists") => label.is_some(),
                Some("DoesNotExist") => label.is_none(),
                Some("In") => is_listed,
                Some("NotIn") => !is_listed,
                other => panic!("{other:?} is no operator"),
            }
        })
}

fn is_met(condition: &Program, request: &Value) -> bool {
    let mut context = Context::with_env(Arc::new(Env::stdlib()));
    let variables = [
        ("request", request),
        ("object", &request["object"]),
        ("oldObject", &request["oldObject"]),
    ];
    for (name, value) in variables {
        let value = cel::to_value(value).expect("a value");
        context.add_variable(name, value).expect("a variable");
    }
    match condition.execute(&context) {
        Ok(cel::Value::Bool(met)) => met,
        other => panic!("{other:?} for {request}"),
    }
}

/// Whether the registries are away. Those that are not have each image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Registries {
    Up,
    Down,
}

impl Client for Registries {
    fn digest(&mut self, image: &str) -> Result<String, String> {
        if *self == Self::Down {
            return Err(
                "Host error: error sending request for url (https://registry/v2/)".to_owned(),
            );
        }
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        Ok(format!("sha256:{:064x}", hasher.finish()))
    }
}

/// What comes out of admission: the object that is stored, or the message of a rejection.
pub(super) type Outcome = Result<Value, String>;

/// Sends a request to policies that select it: to the mutating ones in this order, and then to the
/// others. The outcome is without this policy's own annotations, because each installation adds its
/// entries there.
pub(super) fn admit(policies: &[&Policy], request: &Value, mut registries: Registries) -> Outcome {
    let mut request = request.clone();
    let of_kind = |is_mutating| {
        policies
            .iter()
            .filter(move |policy| policy.is_mutating() == is_mutating)
    };
    for policy in of_kind(true).chain(of_kind(false)) {
        let mut answer = policy.answer(&request, &mut registries);
        if answer["accepted"] != true {
            return Err(answer["message"].as_str().unwrap_or_default().to_owned());
        }
        if !answer["mutated_object"].is_null() {
            request["object"] = answer["mutated_object"].take();
        }
    }
    let mut object = request["object"].take();
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|key, _| !key.starts_with("consistent-pull-policy/"));
    }
    Ok(object)
}

/// The API server sends an UPDATE of a Pod exactly if an image changes. The module accepts all
/// others unchanged.
#[test]
fn an_update_of_a_pod_is_sent_exactly_if_it_changes_an_image() {
    let policies = super::policies();
    let updating = || {
        policies
            .iter()
            .filter(|policy| super::registers_updates(policy))
    };
    assert!(updating().count() > 1);

    let update = captured("pod-update-image");
    let unchanged = || {
        let mut request = update.clone();
        request["object"] = update["oldObject"].clone();
        request
    };
    let mut of_init_container = unchanged();
    of_init_container["object"]["spec"]["initContainers"][0]["image"] = json!("busybox:2");
    let mut of_finalizer = unchanged();
    of_finalizer["object"]["metadata"]["finalizers"] = json!(["example.com/x"]);
    for (request, is_sent) in [
        (update.clone(), true),
        (of_init_container, true),
        (captured("pod-ephemeralcontainers-update"), true),
        (captured("pod-create"), true),
        (captured("pod-update-label"), false),
        (of_finalizer, false),
    ] {
        for policy in updating() {
            assert_eq!(
                policy.selects(&request),
                is_sent,
                "{}: {request}",
                policy.name
            );
            let answer = policy.answer(&request, &mut Registries::Down);
            let is_untouched = answer["accepted"] == true
                && answer["mutated_object"].is_null()
                && answer["warnings"].is_null();
            assert!(is_sent || is_untouched, "{}: {request}", policy.name);
        }
    }
}
