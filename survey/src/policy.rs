//! The answers of this policy. The survey only asks for them, so that it has no rule of its own.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::incident::{Incident, Moment, Registries};
use crate::json::text;
use crate::object::entries;
use crate::survey::Outcome;

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
    let (request, settings) = (request.to_string(), settings.to_string());
    ask(&request, &settings, incident, policy, &mut Vec::new())
}

/// The answer to a request. `asked` gets the images that were looked up.
fn ask<T: DeserializeOwned>(
    request: &str,
    settings: &str,
    incident: Option<Incident>,
    policy: &mut dyn Policy,
    asked: &mut Vec<String>,
) -> Result<T, String> {
    let payload = [r#"{"request":"#, request, r#","settings":"#, settings, "}"].concat();
    let mut registries = Registries {
        incident,
        asked: Vec::new(),
    };
    let answer = policy.validate(&payload, &mut registries)?;
    *asked = registries.asked;
    serde_json::from_slice(&answer).map_err(|error| error.to_string())
}

/// This policy's answer, as its module writes it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    accepted: bool,
    message: Option<String>,
    mutated_object: Option<Value>,
    warnings: Option<Vec<String>>,
    audit_annotations: Option<HashMap<String, String>>,
}

/// What becomes of an object at its creation. The default is that of an object that no policy
/// selects.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) outcome: Outcome,
    /// The rules with a finding or a change.
    pub(crate) rules: BTreeSet<String>,
    /// The message of a rejection, or the warnings, or else the changes.
    pub(crate) reasons: Vec<String>,
    /// The object, if it was repaired. A Pod that only gets an annotation with warnings starts as it
    /// came in.
    repaired: Option<Value>,
    /// The images that were looked up.
    asked: Vec<String>,
}

impl Admission {
    /// Sends a request to a policy. If a module fails, policy-server rejects too.
    pub(crate) fn new(
        request: &str,
        settings: &str,
        incident: Option<&Incident>,
        policy: &mut dyn Policy,
    ) -> Self {
        let mut asked = Vec::new();
        let answer = ask(request, settings, incident.cloned(), policy, &mut asked);
        let answer = answer.unwrap_or_else(|error| Answer {
            message: Some(format!("this policy failed: {error}")),
            ..Answer::default()
        });
        let entries = |annotation| -> Option<Vec<Value>> {
            let text = answer.audit_annotations.as_ref()?.get(annotation)?;
            serde_json::from_str(text).ok()
        };
        let changes = entries("changes").unwrap_or_default();
        let findings = entries("findings").unwrap_or_default();
        let rules = changes
            .iter()
            .chain(&findings)
            .map(|it| text(it, "/rule").to_owned());
        let warnings = answer.warnings.unwrap_or_default();
        let repaired = answer.mutated_object.filter(|_| !changes.is_empty());
        let outcome = match (answer.accepted, &repaired, &*warnings) {
            (false, ..) => Outcome::Rejected,
            (true, Some(_), _) => Outcome::Changed,
            (true, None, [_, ..]) => Outcome::Warned,
            (true, None, []) => Outcome::Allowed,
        };
        let reasons = if outcome == Outcome::Rejected {
            answer.message.into_iter().collect()
        } else if warnings.is_empty() {
            changes.iter().map(in_words).collect()
        } else {
            warnings
        };
        Self {
            rules: rules.collect(),
            outcome,
            reasons,
            repaired,
            asked,
        }
    }

    /// What becomes of the object in an incident: while a registry is down, its lookups fail too.
    pub(crate) fn during(
        self: &Rc<Self>,
        request: &str,
        settings: &str,
        incident: &Incident,
        policy: &mut dyn Policy,
    ) -> Rc<Self> {
        let fails = self.asked.iter().any(|image| incident.takes(image));
        if fails && incident.moment != Moment::Reboot {
            Rc::new(Self::new(request, settings, Some(incident), policy))
        } else {
            Rc::clone(self)
        }
    }

    pub(crate) fn is_rejected(&self) -> bool {
        self.outcome == Outcome::Rejected
    }

    /// The object that is stored.
    pub(crate) fn object<'o>(&'o self, sent: &'o Value) -> &'o Value {
        self.repaired.as_ref().unwrap_or(sent)
    }

    /// Whether the plugin `AlwaysPullImages` would change the repaired Pod again.
    pub(crate) fn is_undone(&self) -> bool {
        self.repaired.as_ref().is_some_and(|pod| !is_always(pod))
    }
}

/// A change, without what could be secret: only texts are shown.
fn in_words(change: &Value) -> String {
    let (path, from) = (text(change, "/path"), text(change, "/from"));
    match change.get("to").and_then(Value::as_str) {
        // The digest is invented.
        Some(to) if to.contains('@') => format!("{path}: {from} gets its digest"),
        Some(to) => format!("{path}: {from} -> {to}"),
        None => format!("{path} is added"),
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
        let admission = Admission::new(&request.to_string(), &settings.to_string(), None, policy);
        let found = (!admission.is_rejected()).then(|| Image {
            default: match admission.repaired {
                Some(_) => "Always",
                None => "IfNotPresent",
            },
            name: admission.asked.into_iter().next(),
        });
        self.0.insert(image.to_owned(), found.clone());
        found
    }
}

/// Whether all init containers and app containers of a Pod pull with `Always`.
pub(crate) fn is_always(pod: &Value) -> bool {
    let mut entries = entries(pod).into_iter();
    entries.all(|it| {
        it.pull_policy == "Always" || ["ephemeralContainers", "volumes"].contains(&it.list)
    })
}
