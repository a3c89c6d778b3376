//! What a person chooses, and the release of the chart that does it.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::json::to_yaml;
use crate::preset::Preset;

/// What a person chooses for the release of the chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Choice {
    /// The registries that the policy server may ask, and whose images the preset is about. None:
    /// those in the preset's file.
    pub registries: Vec<String>,
    /// The namespaces. All that the preset selects, if it isn't set.
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
    match (host, port) {
        ("localhost", _) => Some("the node itself"),
        _ if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() => Some("an address"),
        (_, "") => None,
        _ => Some("a port"),
    }
}

impl Choice {
    /// Writes the chosen registries in place of a preset's placeholders. A list of images that have to
    /// be pulled with `Always` gets no public registry: it would make every Pod with their images
    /// wait.
    fn replace(&self, preset: &Preset, settings: &mut Map<String, Value>) {
        for (section, key) in &preset.replaced {
            let registries = self.registries.iter();
            let registries = registries.filter(|name| key != "requireAlways" || !is_public(name));
            let chosen: Vec<String> = registries.map(|name| format!("{name}/*")).collect();
            let section = settings.entry(section).or_insert_with(|| json!({}));
            if let Some(section) = section.as_object_mut().filter(|_| !chosen.is_empty()) {
                section.insert(key.clone(), chosen.into());
            }
        }
    }

    /// The settings of a preset with the chosen registries.
    pub(crate) fn settings(&self, preset: &Preset) -> Value {
        let settings = preset.policy.settings().as_object();
        let mut settings = settings.cloned().unwrap_or_default();
        self.replace(preset, &mut settings);
        settings.into()
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

    /// The command that installs a preset, for a POSIX shell. `chart` is the chart, as helm's
    /// argument.
    ///
    /// # Errors
    /// No namespace is chosen.
    pub(crate) fn command(&self, preset: &Preset, chart: &str) -> Result<String, String> {
        if matches!(&self.namespaces, Some(Namespaces::Only(names)) if names.is_empty()) {
            return Err("no namespace is chosen".to_owned());
        }
        let name = &preset.name;
        let mut values = Map::new();
        let mut set = |key: &str, value: Value| values.insert(key.to_owned(), value);
        set("preset", name.as_str().into());
        // An audit changes nothing in any mode.
        if !preset.policy.is_audit {
            let mode = if self.is_monitor {
                "monitor"
            } else {
                "protect"
            };
            set("mode", mode.into());
        }
        let namespaces = self.namespaces.as_ref();
        if let Some(namespaces) = namespaces.filter(|it| **it != Namespaces::Exclude(Vec::new())) {
            set("namespaces", json!(namespaces));
        }
        // The chart lays them over those of the file.
        let mut settings = Map::new();
        self.replace(preset, &mut settings);
        settings.retain(|_, section| *section != json!({}));
        if !settings.is_empty() {
            set("settings", settings.into());
        }
        let values = to_yaml(&values.into());
        Ok(format!(
            "helm upgrade --install {name} {chart} \\\n  \
             --namespace kubewarden --values - <<'VALUES'\n{values}VALUES\n"
        ))
    }
}
