//! The settings of this policy, as one tree of structs. The reader, the defaults, the error paths
//! and the JSON Schema are made from these structs.
//!
//! A new setting is a new field here. Its doc comment is the description that an editor shows.
//!
//! An operator sees an error of the settings in the status of a `ClusterAdmissionPolicy`, or in a
//! terminal. So all problems are reported together, each with its path. Most messages also show the
//! wrong value and the values that are allowed.

mod conflicts;
mod problem;
mod read;
mod registry_lookup;
mod template_problems;
mod value_conventions;

use k8s_openapi::api::core::v1::Container;
#[cfg(not(target_arch = "wasm32"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::registry_lookup::{
    ImageLookupOverride, LookupFailureAction, LookupSettingsForImage, MissingPlatformAction,
    RegistryLookupSettings, VerifyOrPin,
};
use crate::image::Reference;
use crate::pattern::{self, ContainerOrVolumeNamePattern, ImageNamesForPatterns, ImagePattern};

/// The largest length of a name prefix, in bytes. The name of an added check is a DNS label of at
/// most 63 bytes: the prefix and a number.
const PREFIX_MAX: usize = 58;

/// The settings of the Kubewarden policy consistent-pull-policy.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// The reaction of this policy to a finding, i.e. to one thing that is wrong.
    pub mode: PolicyMode,
    /// How image checks are recognised, which images they have to cover, and how missing checks are
    /// added.
    pub image_checks: ImageCheckSettings,
    /// Whether `Always` becomes `IfNotPresent` in app containers whose image an init container has
    /// already pulled with `Always`. This acts only in Pods that have or get image checks, and only
    /// in mode `Fix`. Turn it off on clusters that enforce `Always`, e.g. with the
    /// `AlwaysPullImages` plugin.
    pub pull_once: bool,
    /// The pull policy of containers whose author chose none.
    pub defaults: PullPolicyDefaults,
    /// The pull policies that are required or forbidden for some images.
    pub images: ImagePullPolicyRules,
    /// Which images this policy looks up in their registries, and what follows from the answers.
    pub registry: RegistryLookupSettings,
    /// The reaction to a finding in the pod template of a Deployment, a Job or any other workload,
    /// in every mode. The Pods of a workload are always examined when they are created.
    pub templates: PodTemplateAction,
    /// Containers and images that are never examined and never changed. (An exempt container may
    /// still get the mount of an added check volume.)
    pub exempt: ExemptContainersAndImages,
    /// Whether this is a second, validating installation of this policy, with mode `Reject` or `Warn` and all other
    /// settings of the first one. It makes no lookups, and accepts the results of the first installation.
    pub validating_copy: bool,
    /// Whether a repaired object gets the annotation `consistent-pull-policy/changes`, which lists
    /// the changes. The manifest of a repaired Pod or Job can be applied again only if the stored
    /// object has this annotation.
    pub record_changes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: PolicyMode::default(),
            image_checks: ImageCheckSettings::default(),
            pull_once: true,
            defaults: PullPolicyDefaults::default(),
            images: ImagePullPolicyRules::default(),
            registry: RegistryLookupSettings::default(),
            templates: PodTemplateAction::default(),
            exempt: ExemptContainersAndImages::default(),
            validating_copy: false,
            record_changes: true,
        }
    }
}

/// The reaction of this policy to a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum PolicyMode {
    /// A finding is repaired if it can be repaired. Otherwise the request is rejected. This policy
    /// has to be installed as mutating.
    #[default]
    Fix,
    /// A request with a finding is rejected. No object is ever changed.
    Reject,
    /// A finding is a warning. No object is ever changed.
    Warn,
}

/// How image checks are recognised, which images they have to cover, and how missing checks are
/// added.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageCheckSettings {
    /// An init container or image volume is an image check only if its name starts with one of these
    /// prefixes. The names of added checks start with the first prefix.
    pub name_prefixes: Vec<CheckNamePrefix>,
    /// The reaction to an image that is not covered: neither an image check nor another init
    /// container pulls it first. This applies to Pods that have image checks.
    pub coverage: MissingCheckAction,
    /// Whether `coverage` also applies to Pods without any image check. With coverage `Fix`, this
    /// needs a `template`, unless added checks are image volumes.
    pub every_pod: bool,
    /// The kind of the checks that are added.
    #[serde(rename = "as")]
    pub made_of: InitContainerOrImageVolume,
    /// The container that an added check is made from if the Pod has no check to copy. It has no
    /// `name`, `image` or `imagePullPolicy`. Its command has to exist in every image. So the
    /// command is usually in a volume that an earlier init container has filled.
    pub template: Option<CheckTemplate>,
    /// The init containers that have to run before an added check, e.g. `copy-agent`. This counts
    /// only in a Pod without a check that is an init container.
    pub after: Vec<ContainerOrVolumeNamePattern>,
}

impl Default for ImageCheckSettings {
    fn default() -> Self {
        Self {
            name_prefixes: ["imagecheck-", "imagepullcheck-"]
                .map(|prefix| CheckNamePrefix(prefix.to_owned()))
                .into(),
            coverage: MissingCheckAction::default(),
            every_pod: false,
            made_of: InitContainerOrImageVolume::default(),
            template: None,
            after: Vec::new(),
        }
    }
}

impl ImageCheckSettings {
    /// Whether this is the name of an image check: it starts with one of the prefixes.
    pub fn is_check_name(&self, name: &str) -> bool {
        self.name_prefixes
            .iter()
            .any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// A prefix of the names of image checks: at most 58 lower-case letters, digits and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(try_from = "String")]
pub struct CheckNamePrefix(String);

impl CheckNamePrefix {
    /// The prefix as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CheckNamePrefix {
    type Error = &'static str;

    /// Reads a prefix. The error says why the text can't start the name of an image check. It is the
    /// end of a sentence that begins with the prefix.
    fn try_from(prefix: String) -> Result<Self, Self::Error> {
        if prefix.is_empty()
            || prefix.starts_with('-')
            || !prefix.bytes().all(pattern::is_label_byte)
        {
            return Err(
                "can't start a container's name: it takes lower-case letters, digits and -",
            );
        }
        if prefix.len() > PREFIX_MAX {
            return Err("leaves no room for a number: it takes at most 58 characters");
        }
        Ok(Self(prefix))
    }
}

/// The reaction to an image that is not covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum MissingCheckAction {
    /// There is no reaction.
    Off,
    /// The image is a warning, in every mode.
    #[default]
    Warn,
    /// The image is a finding that can't be repaired.
    Reject,
    /// The image is a finding, and the repair adds the missing check. In a pod template, and in most
    /// Pods that can't get a check, the image is only a warning.
    Fix,
}

/// The kind of the checks that are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum InitContainerOrImageVolume {
    /// An added check is an init container: a copy of the Pod's last check, or made from the
    /// `template`. If neither exists, a Pod with a check volume gets an image volume.
    #[default]
    InitContainer,
    /// An added check is an image volume. It needs no command in the image, no container and no
    /// second of start-up. It needs Kubernetes 1.35 or newer with image volumes turned on, and
    /// containerd 2.1 or CRI-O 1.31.
    ImageVolume,
}

/// A container without `name`, `image` and `imagePullPolicy`. An added check has exactly these
/// fields, and its own values for the other three. The field `command` is required. Probes,
/// `lifecycle` and restart rules are refused, because a check runs once and ends.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(transparent)]
pub struct CheckTemplate(
    #[serde(deserialize_with = "read::check_template")]
    #[cfg_attr(
        not(target_arch = "wasm32"),
        schemars(with = "serde_json::Map<String, serde_json::Value>")
    )]
    Box<Container>,
);

impl CheckTemplate {
    /// The container. It has no requests and no limits if `with_resources` is false.
    pub fn container(&self, with_resources: bool) -> Container {
        let container = Container::clone(&self.0);
        let resources = container.resources.filter(|_| with_resources);
        Container {
            resources,
            ..container
        }
    }

    /// The names of the volumes that the container mounts or uses as devices.
    pub fn volumes(&self) -> impl Iterator<Item = &str> {
        let mounts = self.0.volume_mounts.iter().flatten();
        let devices = self.0.volume_devices.iter().flatten();
        let mounts = mounts.map(|mount| &*mount.name);
        mounts.chain(devices.map(|device| &*device.name))
    }
}

/// The pull policy of containers whose author chose none.
///
/// A pull policy that equals the server default counts as not chosen, because the API server sets its
/// default before this policy sees the object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PullPolicyDefaults {
    /// The pull policy of a container whose author chose none. If this is not set, the container
    /// keeps its pull policy. It doesn't replace a written `Always` of a tag other than `latest`:
    /// `images.forbidAlways` does.
    #[serde(deserialize_with = "read::default_pull_policy")]
    pub image_pull_policy: Option<DefaultPullPolicy>,
}

/// A pull policy for containers whose author chose none. It can depend on the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum DefaultPullPolicy {
    /// The kubelet asks the registry each time a container starts.
    Always,
    /// The kubelet pulls if the node has no image of that name.
    IfNotPresent,
    /// `Always` for a tag. An image with a digest keeps its pull policy, because it never changes.
    AlwaysUnlessDigest,
}

/// The pull policies that are required or forbidden for some images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImagePullPolicyRules {
    /// Containers of these images pull with `Always`. This is for clusters with several tenants:
    /// each pull proves the Pod's own credentials.
    pub require_always: Vec<ImagePattern>,
    /// Containers of these images never pull with `Always`. This is for registries that are distant
    /// or have a rate limit.
    pub forbid_always: Vec<ImagePattern>,
    /// Containers of these images never pull with `Never`. `Never` uses an image that is already on
    /// the node, and no registry checks the Pod's credentials.
    pub forbid_never: Vec<ImagePattern>,
}

/// The reaction to a finding in a pod template, in every mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum PodTemplateAction {
    /// Pod templates are not examined.
    Off,
    /// A pod template with a finding is accepted with a warning.
    #[default]
    Warn,
    /// `mode` applies to pod templates as to Pods: `Fix` repairs, `Reject` rejects, `Warn` warns. But
    /// templates get no checks and no digests.
    Enforce,
}

/// Containers and images that are never examined and never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExemptContainersAndImages {
    /// Containers and image volumes with these names. Everybody who may create Pods can use such a
    /// name, so the key `images` is safer.
    pub containers: Vec<ContainerOrVolumeNamePattern>,
    /// Containers and image volumes with these images.
    pub images: Vec<ImagePattern>,
}

impl ExemptContainersAndImages {
    /// Whether a container or image volume is exempt. `image` is `None` if it can't be read.
    pub fn covers(&self, name: &str, image: Option<Reference<'_>>) -> bool {
        let covers_image = |image| {
            let names = ImageNamesForPatterns::of(&image);
            self.images.iter().any(|pattern| pattern.matches(&names))
        };
        self.containers.iter().any(|pattern| pattern.matches(name))
            || (!self.images.is_empty() && image.is_some_and(covers_image))
    }
}

/// `Ok` if there are no problems. The error has all messages, joined with `; `.
fn unless_empty(problems: &[problem::SettingsProblem]) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    let messages: Vec<_> = problems.iter().map(|problem| &*problem.message).collect();
    Err(messages.join("; "))
}

impl Settings {
    /// Reads the settings of a request. The settings were checked when this policy was loaded. So
    /// this function doesn't look for unknown fields of the check template, and for settings that
    /// contradict each other.
    ///
    /// # Errors
    /// The settings can't be read, or have a wrong value. The error has a sentence about each problem.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let (settings, problems) = read::settings(read::tree(text)?);
        unless_empty(&problems).map(|()| settings)
    }

    /// Checks the settings: everything that [`Settings::read`] checks, the fields of the check template,
    /// and whether settings contradict each other.
    ///
    /// # Errors
    /// The settings have a problem. The error has a sentence about each problem, apart from
    /// contradictions that may come from an unreadable value. If more than 100 values can't be read, the
    /// error has only 100 of them.
    pub fn check(text: &[u8]) -> Result<(), String> {
        let tree = read::tree(text)?;
        let (settings, mut problems) = read::settings(tree.clone());
        let conflicts = conflicts::conflicts(&settings, &problems);
        // A check template that is `{}` counts as not set.
        if let Some(Value::Object(template)) = tree.pointer(template_problems::POINTER)
            && !template.is_empty()
        {
            problems.retain(|problem| problem.path != template_problems::PATH);
            problems.extend(template_problems::problems(template));
        }
        problems.extend(conflicts);
        unless_empty(&problems)
    }

    /// The JSON Schema of the settings, for editors and forms. Its descriptions are the doc
    /// comments of the settings' types.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(Settings)
    }
}
