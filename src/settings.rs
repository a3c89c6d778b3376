//! The settings: one tree of structs, from which reading, defaults, error paths and the JSON
//! Schema follow.
//!
//! A new setting is a new field here, and nothing else; its doc comment is what a user sees in an
//! editor. A cluster operator sees a settings error once, in the status of a
//! `ClusterAdmissionPolicy` or in a terminal; so all problems are reported together, each with
//! its path, what is there, and what is allowed.

mod conflicts;
mod read;
mod template;

#[cfg(not(target_arch = "wasm32"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::image::Reference;
use crate::pattern::{self, ContainerPattern, ImageName, ImagePattern, first_match};
use crate::pull_policy::PullPolicy;

/// The most lookups that a request may be allowed.
const MAX_LOOKUPS: u64 = 100;
/// A check's name is a prefix and a number, together a DNS label of at most 63 bytes.
const PREFIX_MAX: usize = 58;

/// Settings of the policy consistent-pull-policy.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// What happens to a finding.
    pub mode: Mode,
    /// How image checks are recognised, what they have to cover, and what added ones are made of.
    pub image_checks: ImageCheckSettings,
    /// In a Pod with image checks: once an init container has pulled an image with `Always`, the
    /// containers that it covers need not pull it again, so their `Always` becomes
    /// `IfNotPresent`. Only in mode `Fix`. Turn it off on clusters that enforce `Always`, with
    /// the `AlwaysPullImages` plugin for instance.
    pub pull_once: bool,
    /// The pull policy of containers whose author chose none.
    pub defaults: PullPolicyDefaults,
    /// Images whose pull policy is not left to the author of a Pod.
    pub images: ImagePullPolicyRules,
    /// What is asked of registries, and what follows from their answers.
    pub registry: RegistrySettings,
    /// What happens to a Deployment, a Job or any other workload whose pod template has a
    /// finding, in every mode. Its Pods are examined when they are created in any case.
    pub templates: PodTemplateAction,
    /// What is never examined and never changed.
    pub exempt: Exemptions,
    /// A repaired Pod carries the annotation `consistent-pull-policy/changes`, which lists what
    /// was changed. Applying the same manifest again relies on it.
    pub record_changes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            image_checks: ImageCheckSettings::default(),
            pull_once: true,
            defaults: PullPolicyDefaults::default(),
            images: ImagePullPolicyRules::default(),
            registry: RegistrySettings::default(),
            templates: PodTemplateAction::default(),
            exempt: Exemptions::default(),
            record_changes: true,
        }
    }
}

/// What happens to a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum Mode {
    /// What can be repaired is repaired, the rest is rejected. The policy has to be mutating.
    #[default]
    Fix,
    /// Every finding is rejected; no object is ever changed.
    Reject,
    /// Every finding is a warning; no object is ever changed.
    Warn,
}

/// How image checks are recognised, what they have to cover, and what added ones are made of.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageCheckSettings {
    /// An init container whose name starts with one of these is an image check, and so is an
    /// image volume with such a name that is mounted before the containers start. The first one
    /// also names the checks that are added.
    pub name_prefixes: Vec<NamePrefix>,
    /// What happens when an image of a Pod that has image checks is pulled by none of them.
    pub coverage: MissingCheckAction,
    /// Coverage for Pods without any image check, too. With coverage `Fix` this needs a
    /// `template`, unless checks are image volumes.
    pub every_pod: bool,
    /// What an added check is made of.
    #[serde(rename = "as")]
    pub made_of: AddedCheckKind,
    /// With `as: ImageVolume`, in mode `Fix`, when a controller creates a Pod: image checks that
    /// are init containers become image volumes, which saves about a second of each start.
    /// Leave it off where containers with these names do more than check.
    pub replace_existing: bool,
    /// What an added check looks like in a Pod that has none to copy: the fields of a container
    /// without `name`, `image` and `imagePullPolicy`. Its command has to exist in every image,
    /// so it usually stands in a volume that an earlier init container filled.
    pub template: Option<CheckTemplate>,
    /// Names of the init containers that have to run before an added check, e.g. `copy-agent`.
    pub after: Vec<ContainerPattern>,
}

impl Default for ImageCheckSettings {
    fn default() -> Self {
        Self {
            name_prefixes: ["imagecheck-", "imagepullcheck-"]
                .map(|prefix| NamePrefix(prefix.to_owned()))
                .into(),
            coverage: MissingCheckAction::default(),
            every_pod: false,
            made_of: AddedCheckKind::default(),
            replace_existing: false,
            template: None,
            after: Vec::new(),
        }
    }
}

impl ImageCheckSettings {
    /// Whether a container or volume of this name is an image check.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.name_prefixes
            .iter()
            .any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// What the name of an image check starts with: lower-case letters, digits and `-`, at most 58.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct NamePrefix(String);

impl NamePrefix {
    /// The prefix as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NamePrefix {
    type Error = &'static str;

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

impl From<NamePrefix> for String {
    fn from(prefix: NamePrefix) -> Self {
        prefix.0
    }
}

/// What happens when an image of a Pod that has image checks is pulled by none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum MissingCheckAction {
    /// Nothing.
    Off,
    /// A warning, in every mode.
    #[default]
    Warn,
    /// It is a finding that can't be repaired.
    Reject,
    /// It is a finding, and its repair adds the missing check. A pod template is only warned of.
    Fix,
}

/// What an added check is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum AddedCheckKind {
    /// An init container: a copy of the Pod's last check, or made from the `template`.
    #[default]
    InitContainer,
    /// An image volume: no command, no container, no second of start-up. Needs Kubernetes 1.35
    /// or newer with image volumes on, and containerd 2.1 or CRI-O 1.31.
    ImageVolume,
}

/// A container without `name`, `image` and `imagePullPolicy`, as it came: an added check is this
/// and its own three fields. Its `command` is required; probes, `lifecycle` and restart rules
/// are refused, because a check runs once and ends.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(transparent)]
pub struct CheckTemplate(Map<String, Value>);

impl CheckTemplate {
    /// The fields, in JSON.
    #[must_use]
    pub const fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// The pull policy of containers whose author chose none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PullPolicyDefaults {
    /// The pull policy of a container whose author chose none. Not set: it stays as it is.
    pub image_pull_policy: Option<DefaultPullPolicy>,
    /// The same for image checks. Not set: they get the default of the other containers.
    pub image_check_pull_policy: Option<DefaultPullPolicy>,
    /// A pull policy equal to the one that the API server fills in by itself counts as not
    /// chosen. Without this the two defaults never apply on a cluster.
    pub replace_server_defaults: bool,
}

impl Default for PullPolicyDefaults {
    fn default() -> Self {
        Self {
            image_pull_policy: None,
            image_check_pull_policy: None,
            replace_server_defaults: true,
        }
    }
}

/// A pull policy for containers whose author chose none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum DefaultPullPolicy {
    /// A node asks the registry each time a container starts.
    Always,
    /// A node pulls when it has no image of that name.
    IfNotPresent,
    /// A node never pulls: the image has to be there.
    Never,
    /// `Always` for a tag, `IfNotPresent` for a digest: what a digest names never changes.
    AlwaysUnlessDigest,
}

impl DefaultPullPolicy {
    /// The pull policy for an image, by whether it has a digest.
    #[must_use]
    pub const fn resolve(self, has_digest: bool) -> PullPolicy {
        match self {
            Self::AlwaysUnlessDigest if has_digest => PullPolicy::IfNotPresent,
            Self::Always | Self::AlwaysUnlessDigest => PullPolicy::Always,
            Self::IfNotPresent => PullPolicy::IfNotPresent,
            Self::Never => PullPolicy::Never,
        }
    }
}

/// Images whose pull policy is not left to the author of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImagePullPolicyRules {
    /// Containers of these images pull with `Always`: on a cluster with several tenants each
    /// pull proves the Pod's own credentials.
    pub require_always: Vec<ImagePattern>,
    /// Containers of these images never pull with `Always`: rate-limited or distant registries.
    pub forbid_always: Vec<ImagePattern>,
    /// Containers of these images never pull with `Never`, which takes what lies on the node
    /// without asking anybody.
    pub forbid_never: Vec<ImagePattern>,
}

/// What is asked of registries, and what follows from their answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RegistrySettings {
    /// Whether registries are asked for the digests behind tags. Give the policy a longer
    /// evaluation timeout.
    pub lookup: LookupMode,
    /// The images that are looked up. Empty: all.
    pub images: Vec<ImagePattern>,
    /// The images that are not looked up, even if `images` names them.
    pub skip_images: Vec<ImagePattern>,
    /// The tag or the repository does not exist.
    pub on_not_found: LookupFailureAction,
    /// The registry answered 401 or 403: the policy server's credentials are not the Pod's.
    pub on_denied: LookupFailureAction,
    /// The registry answered 429.
    pub on_rate_limited: LookupFailureAction,
    /// No connection, no DNS, a TLS error, a time-out, or an error of the registry's own (5xx).
    pub on_unreachable: LookupFailureAction,
    /// Any other answer.
    pub on_unknown: LookupFailureAction,
    /// Lookups in one request. The images beyond this number count as unreachable, with a
    /// warning that says so. 0 asks nothing and accepts whatever the lookups of another copy of
    /// the policy left; only with mode `Reject` or `Warn`.
    #[serde(deserialize_with = "read::max_lookups")]
    #[cfg_attr(not(target_arch = "wasm32"), schemars(range(min = 0, max = 100)))]
    pub max_lookups: usize,
    /// Other settings for some images. The first entry whose `images` name the image decides;
    /// what it leaves out comes from `registry`.
    pub overrides: Vec<RegistryOverride>,
    /// The platforms that an image exists for are held against the architecture and operating
    /// system that the Pod asks for.
    pub platform: MissingPlatformAction,
}

impl Default for RegistrySettings {
    fn default() -> Self {
        Self {
            lookup: LookupMode::default(),
            images: Vec::new(),
            skip_images: Vec::new(),
            on_not_found: LookupFailureAction::Reject,
            on_denied: LookupFailureAction::KeepTag,
            on_rate_limited: LookupFailureAction::KeepTag,
            on_unreachable: LookupFailureAction::KeepTag,
            on_unknown: LookupFailureAction::KeepTag,
            max_lookups: 10,
            overrides: Vec::new(),
            platform: MissingPlatformAction::default(),
        }
    }
}

/// Whether registries are asked for the digests behind tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum LookupMode {
    /// They are not.
    #[default]
    Off,
    /// They are, and an answer is all that is needed.
    Verify,
    /// They are, and the digest is written into the Pod.
    Pin,
}

/// What happens when a lookup fails in a certain way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum LookupFailureAction {
    /// It is a finding that can't be repaired.
    Reject,
    /// Image and pull policy stay as they are.
    KeepTag,
    /// The tag stays, and its containers and checks get `IfNotPresent`, so that a copy on the
    /// node serves.
    UseCached,
}

impl LookupFailureAction {
    /// The value as it stands in the settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "Reject",
            Self::KeepTag => "KeepTag",
            Self::UseCached => "UseCached",
        }
    }
}

/// Settings of `registry` for some images. What is not set comes from `registry`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryOverride {
    /// The images that this entry is for.
    #[cfg_attr(not(target_arch = "wasm32"), schemars(length(min = 1)))]
    pub images: Vec<ImagePattern>,
    /// Whether the registry is asked for these images.
    pub lookup: Option<LookupMode>,
    /// The tag or the repository does not exist.
    pub on_not_found: Option<LookupFailureAction>,
    /// The registry answered 401 or 403.
    pub on_denied: Option<LookupFailureAction>,
    /// The registry answered 429.
    pub on_rate_limited: Option<LookupFailureAction>,
    /// No connection, no DNS, a TLS error, a time-out, or an error of the registry's own (5xx).
    pub on_unreachable: Option<LookupFailureAction>,
    /// Any other answer.
    pub on_unknown: Option<LookupFailureAction>,
}

/// What happens when an image does not exist for the platform that the Pod asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum MissingPlatformAction {
    /// Nobody looks.
    #[default]
    Off,
    /// A warning, in every mode.
    Warn,
    /// It is a finding that can't be repaired.
    Reject,
}

/// What `registry` says for one image, its overrides included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLookupSettings {
    /// Whether the registry is asked; `Off` for an image that `registry.images` and
    /// `registry.skipImages` leave out.
    pub mode: LookupMode,
    /// The tag or the repository does not exist.
    pub on_not_found: LookupFailureAction,
    /// 401 or 403.
    pub on_denied: LookupFailureAction,
    /// 429.
    pub on_rate_limited: LookupFailureAction,
    /// No connection, DNS, TLS, time-out, 5xx.
    pub on_unreachable: LookupFailureAction,
    /// Any other answer.
    pub on_unknown: LookupFailureAction,
}

impl ImageLookupSettings {
    /// Whether an image that is looked up may be left with `UseCached`.
    #[must_use]
    pub fn may_use_cached(&self) -> bool {
        self.mode != LookupMode::Off
            && [
                self.on_not_found,
                self.on_denied,
                self.on_rate_limited,
                self.on_unreachable,
                self.on_unknown,
            ]
            .contains(&LookupFailureAction::UseCached)
    }
}

impl RegistrySettings {
    /// Whether this is the copy: `maxLookups: 0` asks no registry, and accepts the values that the
    /// lookups of the first installation may have written or kept.
    #[must_use]
    pub const fn accepts_unknown_answers(&self) -> bool {
        self.max_lookups == 0
    }

    /// Whether there may be an image that is looked up, leaving `maxLookups` aside.
    #[must_use]
    pub fn looks_up(&self) -> bool {
        let asks = |lookup| lookup != LookupMode::Off;
        asks(self.lookup) || self.overrides.iter().any(|o| o.lookup.is_some_and(asks))
    }

    /// What is asked for an image, and what follows from each answer.
    #[must_use]
    pub fn for_image(&self, reference: &Reference<'_>) -> ImageLookupSettings {
        let general = ImageLookupSettings {
            mode: self.lookup,
            on_not_found: self.on_not_found,
            on_denied: self.on_denied,
            on_rate_limited: self.on_rate_limited,
            on_unreachable: self.on_unreachable,
            on_unknown: self.on_unknown,
        };
        let all = self.images.is_empty() && self.skip_images.is_empty();
        if !self.looks_up() || (all && self.overrides.is_empty()) {
            return general;
        }
        let name = ImageName::of(reference);
        let names = |patterns: &[ImagePattern]| patterns.iter().any(|p| p.matches(&name));
        if (!self.images.is_empty() && !names(&self.images)) || names(&self.skip_images) {
            return ImageLookupSettings {
                mode: LookupMode::Off,
                ..general
            };
        }
        let own = self.overrides.iter().find(|o| names(&o.images));
        own.map_or(general, |own| ImageLookupSettings {
            mode: own.lookup.unwrap_or(general.mode),
            on_not_found: own.on_not_found.unwrap_or(general.on_not_found),
            on_denied: own.on_denied.unwrap_or(general.on_denied),
            on_rate_limited: own.on_rate_limited.unwrap_or(general.on_rate_limited),
            on_unreachable: own.on_unreachable.unwrap_or(general.on_unreachable),
            on_unknown: own.on_unknown.unwrap_or(general.on_unknown),
        })
    }
}

/// What happens to a pod template with a finding, in every mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
pub enum PodTemplateAction {
    /// It is not looked at.
    Off,
    /// It is accepted with warnings.
    #[default]
    Warn,
    /// It is treated as a Pod is: `Fix` repairs it, `Reject` rejects it, `Warn` warns.
    Enforce,
}

/// What is never examined and never changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Exemptions {
    /// Containers and image volumes with these names. Who may name containers may use such a
    /// name; `images` beside it is the safer choice.
    pub containers: Vec<ContainerPattern>,
    /// Containers and image volumes of these images.
    pub images: Vec<ImagePattern>,
}

impl Exemptions {
    /// Whether a container or image volume is exempt. The image is asked for only if
    /// `exempt.images` has patterns. None stands for an image that can't be read.
    #[must_use]
    pub fn covers<'r>(&self, name: &str, image: impl FnOnce() -> Option<Reference<'r>>) -> bool {
        self.containers.iter().any(|pattern| pattern.matches(name))
            || (!self.images.is_empty()
                && image().is_some_and(|image| first_match(&self.images, &image).is_some()))
    }
}

impl Settings {
    /// Reads the settings of a request. They were checked when the policy was loaded, so the
    /// template of a check is taken as it is, and nothing is compared.
    ///
    /// # Errors
    /// Every problem, each with the path to it.
    pub fn read(text: &[u8]) -> Result<Self, Vec<String>> {
        let (settings, problems) = read::settings(text)?;
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(problems.into_iter().map(|problem| problem.told).collect())
        }
    }

    /// Checks the settings: what [`Settings::read`] does, the fields of a check's template, and
    /// what doesn't go together.
    ///
    /// # Errors
    /// Every problem, each with the path to it.
    pub fn check(text: &[u8]) -> Result<(), Vec<String>> {
        let (settings, problems) = read::settings(text)?;
        let conflicts = conflicts::all(&settings)
            .into_iter()
            .filter(|conflict| !conflict.rests_on(&problems))
            .map(|conflict| conflict.told)
            .collect::<Vec<_>>();
        let mut told: Vec<String> = problems.into_iter().map(|problem| problem.told).collect();
        if let Some(template) = &settings.image_checks.template {
            told.extend(template::problems(template));
        }
        told.extend(conflicts);
        if told.is_empty() { Ok(()) } else { Err(told) }
    }

    /// The JSON Schema of the settings, for editors and forms. Its descriptions are the doc
    /// comments of this file.
    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(Settings)
    }
}

impl kubewarden_policy_sdk::settings::Validatable for Settings {
    /// What doesn't go together. What a single value is, its type knows.
    fn validate(&self) -> Result<(), String> {
        let conflicts: Vec<String> = conflicts::all(self)
            .into_iter()
            .map(|conflict| conflict.told)
            .collect();
        if conflicts.is_empty() {
            Ok(())
        } else {
            Err(conflicts.join("; "))
        }
    }
}
