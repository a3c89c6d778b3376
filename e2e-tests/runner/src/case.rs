//! The cases of a row: requests, settings and registries.

use anyhow::{Context, Result};
use consistent_pull_policy_promises::repository::{self, captured, documents};
use consistent_pull_policy_promises::{generate, notation};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::notation::{get, lengthened, set, spec_of_places, text};
use crate::registry::Registries;
use crate::row::{Edits, Given, Row, merged};

/// A request of a row, with the settings and the registries.
#[derive(Clone, Debug)]
pub struct Case {
    /// The values of this case, where the row has a list of them.
    pub values: Vec<String>,
    /// The `AdmissionRequest`.
    pub request: Value,
    /// The settings of this policy.
    pub settings: Value,
    /// What registries answer.
    pub registries: Registries,
}

impl Case {
    /// The case for which the promises are tried.
    pub fn promised(&self) -> generate::Case {
        generate::Case {
            request: self.request.clone(),
            settings: self.settings.clone(),
            answers: self.registries.answers.clone(),
        }
    }
}

impl Row {
    /// The cases of this row: one for each combination of its values.
    ///
    /// # Errors
    /// If a place can't be read, or if a path leads nowhere.
    pub fn cases(&self) -> Result<Vec<Case>> {
        let mut combinations = vec![(self.given.clone(), Vec::new())];
        for key in Given::EACH {
            combinations = combinations
                .into_iter()
                .flat_map(|one| each(one, key))
                .collect();
        }
        let mut cases = Vec::new();
        for (given, values) in combinations {
            cases.extend(
                cases_of(given, &values).with_context(|| format!("{} {values:?}", self.place))?,
            );
        }
        Ok(cases)
    }
}

/// The rows that `row` stands for if the value at `key` is a list.
fn each((mut row, values): (Value, Vec<String>), key: &str) -> Vec<(Value, Vec<String>)> {
    if !row[key].is_array() {
        return vec![(row, values)];
    }
    let list = row[key].take();
    let list = list.as_array().cloned().unwrap_or_default();
    let rows = list.into_iter().map(|value| {
        let mut row = row.clone();
        let named = format!("{key}: {value}");
        row[key] = value;
        (row, [values.as_slice(), &[named]].concat())
    });
    rows.collect()
}

/// A `null` in `set` or `request` stands for null and for a missing field, so both are tried.
fn cases_of(given: Value, values: &[String]) -> Result<Vec<Case>> {
    let given = Given::deserialize(given)?;
    let has_null = |edits: &Edits| edits.values().any(Value::is_null);
    let nulls = if has_null(&given.set) || has_null(&given.request) {
        &[Some(Value::Null), None][..]
    } else {
        &[None]
    };
    let mut settings = given.settings.clone();
    if let Some(name) = &given.preset {
        let own = if settings.is_null() {
            json!({})
        } else {
            settings
        };
        let preset = documents(&repository::text(&format!("examples/{name}.yaml")));
        settings = merged(preset[0]["spec"]["settings"].clone(), own);
    }
    if let Some(mode) = &given.mode {
        settings = merged(settings, json!({"mode": mode}));
    }
    let cases = nulls.iter().map(|null| {
        let mut values = values.to_vec();
        values.extend(null.is_some().then(|| "null".to_owned()));
        Ok(Case {
            values,
            request: given.request(null.as_ref())?,
            settings: settings.clone(),
            registries: Registries::new(given.registry.clone()),
        })
    });
    cases.collect()
}

impl Given {
    /// The request. `null` is what stands for null, or `None` if its field is left out.
    fn request(&self, null: Option<&Value>) -> Result<Value> {
        let mut request = match &self.review {
            Some(name) => captured(name),
            None => self.made()?,
        };
        let edit = |value: &mut Value, edits: &Edits| -> Result<()> {
            for (path, new) in edits {
                let new = lengthened(new);
                let new = if new.is_null() { null } else { Some(&new) };
                set(value, path, new).with_context(|| format!("at {path}"))?;
            }
            Ok(())
        };
        let operation = self.request.get("operation").and_then(Value::as_str);
        if self.old.is_none() && matches!(operation, Some("UPDATE" | "DELETE")) {
            request["oldObject"] = request["object"].clone();
        }
        edit(&mut request["object"], &self.set)?;
        if operation == Some("DELETE") {
            request["object"] = Value::Null;
        }
        edit(&mut request, &self.request)?;
        Ok(request)
    }

    /// A request with the places of the row.
    fn made(&self) -> Result<Value> {
        let kind = self.kind.as_deref().unwrap_or("Pod");
        let group = match kind {
            "Pod" | "PodTemplate" | "ReplicationController" => "",
            "Job" | "CronJob" => "batch",
            _ => "apps",
        };
        let version = format!("{group}/v1");
        let object = |places: &Option<String>| -> Result<Value> {
            let Some(places) = places else {
                return Ok(Value::Null);
            };
            let mut object = json!({
                "apiVersion": version.trim_start_matches('/'),
                "kind": kind,
                "metadata": {"name": "test", "namespace": "default"},
            });
            let spec = spec_of_places(places)?;
            set(&mut object, path_to_spec(kind), Some(&spec))?;
            Ok(object)
        };
        let kind_of_request = json!({"group": group, "version": "v1", "kind": kind});
        let resource = json!({"group": group, "version": "v1", "resource": format!("{}s", kind.to_lowercase())});
        Ok(json!({
            "uid": "1299d386-525b-4032-98ae-1949f69f9cfc",
            "kind": kind_of_request,
            "resource": resource,
            "requestKind": kind_of_request,
            "requestResource": resource,
            "name": "test",
            "namespace": "default",
            "operation": if self.old.is_some() { "UPDATE" } else { "CREATE" },
            "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
            "object": object(&self.pod)?,
            "oldObject": object(&self.old)?,
            "dryRun": false,
        }))
    }
}

/// The path from an object of a kind to its Pod spec.
fn path_to_spec(kind: &str) -> &'static str {
    match kind {
        "Pod" => "spec",
        "PodTemplate" => "template.spec",
        "CronJob" => "spec.jobTemplate.spec.template.spec",
        _ => "spec.template.spec",
    }
}

/// The places of an object, as rows write them.
pub(crate) fn places(request: &Value, object: &Value) -> Vec<String> {
    let spec = get(object, path_to_spec(text(&request["kind"]["kind"])));
    spec.map(notation::places).unwrap_or_default()
}
