//! The answers of this policy. The survey only asks for them, so that it has no rule of its own.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::incident::{Incident, Registries};
use crate::json::{list, text};

/// Something that answers as this policy's module does.
pub trait Policy {
    /// The answer to the payload of waPC's operation `validate`. `registries` answers its lookups.
    ///
    /// # Errors
    /// There is no answer, because the module failed.
    fn validate(&mut self, payload: &str, registries: &mut Registries) -> Result<Vec<u8>, String>;
}

/// The answer to a request while an incident takes registries down. Without one, all answer.
///
/// # Errors
/// There is no answer, because the module failed.
pub fn answer_during(
    request: &Value,
    settings: &Value,
    incident: Option<Incident>,
    policy: &mut dyn Policy,
) -> Result<Value, String> {
    let payload = json!({"request": request, "settings": settings});
    let mut registries = Registries {
        incident,
        asked: Vec::new(),
    };
    let answer = policy.validate(&payload.to_string(), &mut registries)?;
    serde_json::from_slice(&answer).map_err(|error| error.to_string())
}

/// What this policy says about an object.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Answer {
    #[serde(default)]
    pub(crate) accepted: bool,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    pub(crate) mutated_object: Option<Value>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
    #[serde(default)]
    audit_annotations: Option<HashMap<String, String>>,
}

impl Answer {
    /// Asks for an answer. If a module fails, policy-server rejects too.
    pub(crate) fn ask(
        policy: &mut dyn Policy,
        request: &str,
        settings: &str,
        registries: &mut Registries,
    ) -> Self {
        let payload = [r#"{"request":"#, request, r#","settings":"#, settings, "}"].concat();
        let answer = policy.validate(&payload, registries);
        let answer = answer
            .and_then(|answer| serde_json::from_slice(&answer).map_err(|error| error.to_string()));
        answer.unwrap_or_else(|error| Self {
            message: Some(format!("this policy failed: {error}")),
            ..Self::default()
        })
    }

    fn entries(&self, annotation: &str) -> Vec<Value> {
        let annotations = self.audit_annotations.as_ref();
        let text = annotations.and_then(|annotations| annotations.get(annotation));
        let entries = text.and_then(|text| serde_json::from_str(text).ok());
        entries.unwrap_or_default()
    }

    /// Whether this policy repaired the object. A Pod that only gets an annotation with warnings
    /// starts as it came in.
    pub(crate) fn is_repair(&self) -> bool {
        self.mutated_object.is_some() && !self.entries("changes").is_empty()
    }

    pub(crate) fn has_warnings(&self) -> bool {
        self.warnings
            .as_ref()
            .is_some_and(|warnings| !warnings.is_empty())
    }

    /// The rules with a finding or a change.
    pub(crate) fn rules(&self) -> BTreeSet<String> {
        let entries = ["changes", "findings"].map(|annotation| self.entries(annotation));
        let rules = entries
            .iter()
            .flatten()
            .map(|entry| text(entry, &["rule"]).to_owned());
        rules.collect()
    }

    /// The message of a rejection, or the warnings, or else the changes.
    pub(crate) fn reasons(self) -> Vec<String> {
        if !self.accepted {
            return self.message.into_iter().collect();
        }
        if self.has_warnings() {
            return self.warnings.unwrap_or_default();
        }
        let told = |change: &Value| {
            let path = text(change, &["path"]);
            let from = text(change, &["from"]);
            // Only texts are shown: a whole container can have anything in it.
            match change.get("to").and_then(Value::as_str) {
                // The digest is invented.
                Some(to) if to.contains('@') => format!("{path}: {from} gets its digest"),
                Some(to) => format!("{path}: {from} -> {to}"),
                None => format!("{path} is added"),
            }
        };
        self.entries("changes").iter().map(told).collect()
    }
}

/// What this policy knows about the name of an image.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// The server default of its pull policy.
    pub(crate) default: &'static str,
    /// Its normalised name. `None` if no registry can be asked for it.
    pub(crate) name: Option<String>,
}

/// The images that were asked for before. `None` for one that can't be parsed.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, Option<Image>>);

impl Names {
    /// What this policy knows about an image. Without a pull policy it works with the server
    /// default; with these settings it rejects an image that can't be parsed, looks up its
    /// normalised name, lowers `Always`, and changes nothing else.
    pub(crate) fn image(&mut self, image: &str, policy: &mut dyn Policy) -> Option<Image> {
        if let Some(known) = self.0.get(image) {
            return known.clone();
        }
        let request = json!({
            "uid": "",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "userInfo": {},
            "object": {"metadata": {}, "spec": {"containers": [{"name": "app", "image": image}]}},
        });
        let settings = json!({
            "images": {"forbidAlways": ["*"]},
            "registry": {"lookup": "Verify", "images": ["*"]},
        });
        let mut registries = Registries::default();
        let answer = Answer::ask(
            policy,
            &request.to_string(),
            &settings.to_string(),
            &mut registries,
        );
        let found = answer.accepted.then(|| Image {
            default: if answer.is_repair() {
                "Always"
            } else {
                "IfNotPresent"
            },
            name: registries.asked.into_iter().next(),
        });
        self.0.insert(image.to_owned(), found.clone());
        found
    }
}

/// Whether all containers of a Pod spec pull with `Always`.
pub(crate) fn is_always(spec: &Value) -> bool {
    let lists = ["initContainers", "containers"].map(|key| list(spec, &[key]));
    let mut containers = lists.into_iter().flatten();
    containers.all(|container| text(container, &["imagePullPolicy"]) == "Always")
}
