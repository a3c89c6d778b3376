//! The settings of this policy, as one tree of structs. The reader, the defaults, the paths of
//! errors and the JSON Schema are made from these structs.
//!
//! A new setting is a new field here. Its doc comment is the description that an editor shows.

mod image_checks;
mod images;
mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smart_default::SmartDefault;

pub use self::image_checks::{
    FORBIDDEN_IN_TEMPLATE, Form, ImageChecks, NamePattern, OnMissing, Prefix,
};
pub(crate) use self::images::ForImage;
pub use self::images::{Action, Images, Lookup, Registry};
use self::value::{SettingsValue, is_unset};

const TEMPLATE_REQUIRED: &str = "imageChecks.template is required: with onMissing: Add and \
    podsWithoutChecks: true, a Pod without image checks has none to copy, unless imageChecks.type is ImageVolume";
const IMAGES_REQUIRED: &str = "registry.images is required for lookups: whoever creates a Pod chooses the hosts of its \
    images, and policy-server connects to them, so name your registries, e.g. registry.example.com/*, or write * for all \
    images";

/// The settings of the Kubewarden policy consistent-pull-policy.
#[derive(Debug, Deserialize, Serialize, SmartDefault, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// What this policy does about a finding, i.e. about one thing that is wrong.
    pub mode: Mode,
    /// How image checks are recognised, which images need one, and how missing checks are added.
    pub image_checks: ImageChecks,
    /// Whether `Always` becomes `IfNotPresent` in a container whose image an init container has
    /// pulled with `Always` before. This takes effect in mode `Fix`, in Pods that have or get image
    /// checks. `false` is right on clusters that enforce `Always`, e.g. with the plugin
    /// `AlwaysPullImages`.
    #[default = true]
    pub pull_once: bool,
    /// The pull policies that are required or forbidden for some images, and which images are exempt.
    pub images: Images,
    /// Which images this policy looks up in their registries, and what follows from the answers.
    pub registry: Registry,
    /// What happens if the Pods of a Deployment, a Job or any other workload would be rejected. A pod
    /// template is never changed. The Pods of a workload are always examined when they are created.
    pub pod_templates: PodTemplates,
}

/// What this policy does about a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Mode {
    /// Repairs what can be repaired, and rejects the rest. This policy has to be installed as
    /// mutating.
    #[default]
    Fix,
    /// Rejects a request with a finding. No object is ever changed.
    Reject,
    /// Warns of findings, and rejects only what can't be read. No object is ever changed.
    Warn,
}

/// What happens if the Pods of a pod template would be rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum PodTemplates {
    /// Nothing: pod templates are not examined.
    Off,
    /// A finding for which the Pods would be rejected is a warning.
    #[default]
    Warn,
    /// A finding for which the Pods would be rejected rejects the pod template too.
    Reject,
}

impl Settings {
    /// Reads the settings of a request. They were checked when this policy was loaded, so this
    /// function doesn't look for settings that contradict each other.
    ///
    /// # Errors
    /// The path of the first value that can't be read, and what is allowed there.
    pub fn read(tree: &Value) -> Result<Self, String> {
        if is_unset(tree) {
            return Ok(Self::default());
        }
        serde_path_to_error::deserialize(SettingsValue(tree)).map_err(|error| {
            let path = error.path().to_string();
            match (&*path, error.inner().to_string()) {
                (".", problem) => format!("the settings: {problem}"),
                // In a list or in the check template, the problem begins with the rest of the path.
                (path, problem) if problem.starts_with(['[', '.']) => [path, &problem].concat(),
                (path, problem) => format!("{path}: {problem}"),
            }
        })
    }

    /// Reads and checks the settings.
    ///
    /// # Errors
    /// The path of the first value that can't be read, or all contradictions, joined with `; `.
    pub fn check(text: &[u8]) -> Result<Self, String> {
        let tree: Value = serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("the settings are no valid JSON at line {line}, column {column}")
        })?;
        let settings = Self::read(&tree)?;
        match settings.conflicts() {
            conflicts if conflicts.is_empty() => Ok(settings),
            conflicts => Err(conflicts.join("; ")),
        }
    }

    /// All settings that contradict each other, although each single value is valid: a sentence each,
    /// with the way out.
    fn conflicts(&self) -> Vec<String> {
        let (checks, registry) = (&self.image_checks, &self.registry);
        let needs_template = checks.on_missing == OnMissing::Add
            && checks.pods_without_checks
            && checks.form == Form::InitContainer;
        let mut conflicts = match &checks.template {
            Some(template) => image_checks::problems(template),
            None if needs_template => vec![TEMPLATE_REQUIRED.to_owned()],
            None => Vec::new(),
        };
        if registry.images.is_empty() && registry.lookup != Lookup::Off {
            conflicts.push(IMAGES_REQUIRED.to_owned());
        }
        conflicts
    }
}
