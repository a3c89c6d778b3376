//! What a person chooses, and the releases of the chart that do it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::example::{AdmissionPolicy, Example};

/// What a person chooses for the releases of the chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Choice {
    /// The registries that the policy server may ask, and whose images the example is about. None:
    /// those in the example's file.
    pub registries: Vec<String>,
    /// The namespaces. All that the example selects, if it isn't set.
    pub namespaces: Option<Namespaces>,
    /// Whether the policy only reports what it would do.
    pub is_monitor: bool,
}

/// Some namespaces, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Namespaces {
    /// Only these.
    Only(Vec<String>),
    /// All but these.
    Exclude(Vec<String>),
}

/// A release of the chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Release {
    /// The name of its example.
    pub example: String,
    /// Its values.
    pub values: Value,
}

/// Registries that everybody can push to, or from which everybody pulls. Who may pull their images
/// is no secret of a tenant.
const PUBLIC: [&str; 8] = [
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "quay.io",
    "registry.k8s.io",
    "registry.gitlab.com",
];

/// Whether everybody can pull from a registry.
pub(crate) fn is_public(registry: &str) -> bool {
    PUBLIC.contains(&registry)
}

/// Why a registry may be none that a policy server should connect to: whoever creates a Pod names
/// it.
pub(crate) fn doubt(registry: &str) -> Option<&'static str> {
    let (host, port) = registry.rsplit_once(':').unwrap_or((registry, ""));
    let is_address = host.starts_with('[')
        || host
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_address {
        Some("an address")
    } else if host == "localhost" {
        Some("the node itself")
    } else if port.is_empty() {
        None
    } else {
        Some("a port")
    }
}

/// Whether a pattern of an example has to be replaced by an operator's own.
fn is_invented(pattern: &Value) -> bool {
    let pattern = pattern.as_str().unwrap_or_default();
    let mut parts = pattern.split(['.', '/']);
    parts.any(|part| part == "example")
}

impl Choice {
    /// The settings of a policy with the chosen registries in place of invented ones. A list of
    /// images that have to be pulled with `Always` gets no public registry: it would make every Pod
    /// with their images wait.
    pub(crate) fn settings(&self, policy: &AdmissionPolicy) -> Value {
        let mut settings = policy.settings().clone();
        for section in ["images", "registry"] {
            let lists = settings.get_mut(section).and_then(Value::as_object_mut);
            for (key, list) in lists.into_iter().flatten() {
                let Some(patterns) = list.as_array_mut() else {
                    continue;
                };
                let of_tenants = key == "requireAlways";
                let registries = self.registries.iter();
                let registries = registries.filter(|name| !(of_tenants && is_public(name)));
                let chosen: Vec<Value> =
                    registries.map(|name| format!("{name}/*").into()).collect();
                if !chosen.is_empty() && patterns.iter().any(is_invented) {
                    *patterns = chosen;
                }
            }
        }
        settings
    }

    /// Whether a namespace is chosen.
    pub(crate) fn has(&self, namespace: &str) -> bool {
        let is_listed = |names: &[String]| names.iter().any(|name| name == namespace);
        match &self.namespaces {
            None => true,
            Some(Namespaces::Only(names)) => is_listed(names),
            Some(Namespaces::Exclude(names)) => !is_listed(names),
        }
    }

    /// The releases that install an example: before a second policy, its first one.
    ///
    /// # Errors
    /// No namespace is chosen, or the example is no release of the chart.
    pub fn releases(&self, example: &str, examples: &[Example]) -> Result<Vec<Release>, String> {
        if matches!(&self.namespaces, Some(Namespaces::Only(names)) if names.is_empty()) {
            return Err("no namespace is chosen".to_owned());
        }
        let find = |name: &str| examples.iter().find(|example| example.name == name);
        let own = find(example).ok_or_else(|| format!("there is no example {example}"))?;
        let first = own.first.as_deref().and_then(find);
        first
            .into_iter()
            .chain([own])
            .map(|example| self.release(example))
            .collect()
    }

    fn release(&self, example: &Example) -> Result<Release, String> {
        let name = &example.name;
        let policy = example.policy.as_ref();
        let policy = policy.ok_or_else(|| format!("apply {name}.yaml with kubectl"))?;
        let mut values = Map::new();
        let mut set = |key: &str, value: Value| values.insert(key.to_owned(), value);
        set("example", name.as_str().into());
        // An audit changes nothing in any mode.
        if !policy.is_audit {
            let mode = if self.is_monitor {
                "monitor"
            } else {
                "protect"
            };
            set("mode", mode.into());
        }
        match &self.namespaces {
            Some(Namespaces::Exclude(names)) if names.is_empty() => {}
            Some(namespaces) => {
                set(
                    "namespaces",
                    serde_json::to_value(namespaces).unwrap_or_default(),
                );
            }
            None => {}
        }
        if let Some(settings) = difference(policy.settings(), &self.settings(policy)) {
            set("settings", settings);
        }
        Ok(Release {
            example: name.clone(),
            values: values.into(),
        })
    }
}

/// What of the settings differs: the chart lays it over those of the file.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Some(before), Some(members)) = (before.as_object(), after.as_object()) else {
        return Some(after.clone());
    };
    let changed = members.iter().filter_map(|(key, value)| {
        let before = before.get(key).unwrap_or(&Value::Null);
        Some((key.clone(), difference(before, value)?))
    });
    Some(changed.collect::<Map<_, _>>().into())
}

impl Release {
    /// The command that installs the release, for a POSIX shell. `chart` is the chart, as helm's
    /// argument.
    pub fn command(&self, chart: &str) -> String {
        let values = yaml_serde::to_string(&self.values).unwrap_or_default();
        format!(
            "helm upgrade --install consistent-pull-policy-{} {chart} \\\n  \
             --namespace kubewarden --values - <<'VALUES'\n{values}VALUES\n",
            self.example
        )
    }
}
