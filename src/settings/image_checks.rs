//! The settings of image checks, in `imageChecks`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Container;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use smart_default::SmartDefault;
use wildmatch::WildMatch;

use super::value;

/// The largest length of a prefix, in bytes. A name is a DNS label of at most 63 bytes, and a
/// number follows the prefix.
const PREFIX_MAX: usize = 58;

/// How image checks are recognised, which images need one, and how missing checks are added.
#[derive(Debug, Deserialize, Serialize, SmartDefault, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageChecks {
    /// An init container or image volume is an image check only if its name starts with one of
    /// these prefixes. The names of added checks start with the first prefix.
    #[serde(deserialize_with = "prefixes")]
    #[default(["imagecheck-", "imagepullcheck-"].map(|prefix| Prefix(prefix.into())).into())]
    pub name_prefixes: Vec<Prefix>,
    /// What happens to an image that needs a check and has none, in a Pod that has image checks.
    pub on_missing: OnMissing,
    /// Whether `onMissing` also applies to Pods without any image check, where work can be half
    /// done: Pods with an init container, and Pods whose `restartPolicy` is not `Always`. With
    /// `onMissing: Add`, this needs a `template`, unless added checks are image volumes.
    pub pods_without_checks: bool,
    /// What an added check is made of.
    #[serde(rename = "type")]
    pub form: Form,
    /// The container that an added init container is made from if the Pod has no check to copy. It
    /// has no `name`, `image` or `imagePullPolicy`. Its command is required, and has to exist in
    /// every image, so it is usually in a volume that an earlier init container has filled. Probes,
    /// `lifecycle` and restart rules are errors, because the API server would reject the Pod.
    // Boxed, because the type has more than 1,000 bytes: settings without a template would touch
    // four more pages of memory.
    #[serde(deserialize_with = "template")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub template: Option<Box<Container>>,
    /// The init containers that have to run before an added one, e.g. `copy-agent`.
    #[serde(deserialize_with = "value::strings")]
    pub insert_after: Vec<NamePattern>,
}

impl ImageChecks {
    /// Whether this is the name of an image check.
    pub fn has_prefix(&self, name: &str) -> bool {
        self.name_prefixes
            .iter()
            .any(|prefix| name.starts_with(&prefix.0))
    }

    /// The prefix of the names of added checks.
    pub fn first_prefix(&self) -> &str {
        self.name_prefixes.first().map_or("", |prefix| &prefix.0)
    }
}

/// Reads `imageChecks.namePrefixes`. A list without any prefix counts as not set.
fn prefixes<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Prefix>, D::Error> {
    let prefixes: Vec<Prefix> = value::strings(source)?;
    Ok(if prefixes.is_empty() {
        ImageChecks::default().name_prefixes
    } else {
        prefixes
    })
}

/// A prefix of the names of image checks: 1 to 58 lower-case letters, digits and `-`. It begins
/// with no `-`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("pattern" = "^[a-z0-9][a-z0-9-]{0,57}$"))]
#[serde(try_from = "String")]
pub struct Prefix(String);

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(prefix: String) -> Result<Self, String> {
        let is_wrong = prefix.len() > PREFIX_MAX || prefix.starts_with('-');
        if is_wrong || !prefix.bytes().all(is_label_byte) {
            return Err(format!(
                "{prefix} can't start a container's name: it takes 1 to {PREFIX_MAX} lower-case letters, digits and -, and \
                 begins with no -"
            ));
        }
        Ok(Self(prefix))
    }
}

/// A glob for the names of containers and image volumes. `*` is any run of characters, `?` is any
/// one character.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("pattern" = "^[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?$"))]
#[serde(try_from = "String")]
pub struct NamePattern(String);

impl NamePattern {
    /// Whether the pattern matches the whole name of a container or image volume.
    pub fn matches(&self, name: &str) -> bool {
        WildMatch::new(&self.0).matches(name)
    }
}

impl TryFrom<String> for NamePattern {
    type Error = String;

    fn try_from(glob: String) -> Result<Self, String> {
        let is_allowed = |byte: u8| is_label_byte(byte) || matches!(byte, b'*' | b'?');
        if glob.trim_matches('-') != glob || !glob.bytes().all(is_allowed) {
            return Err(format!(
                "{glob} matches no container's name: it takes lower-case letters, digits, inner -, * and ?"
            ));
        }
        Ok(Self(glob))
    }
}

/// Whether a DNS label can have this byte. The names of containers and volumes are DNS labels.
const fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// What happens to an image that needs a check and has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum OnMissing {
    /// Nothing.
    Off,
    /// It is a warning, in every mode.
    #[default]
    Warn,
    /// It is a finding without a repair.
    Reject,
    /// It is a finding, and the repair adds the missing check. Where none can be added, it is a
    /// warning that says why. (If all together were larger than 1 MiB, it is a finding without a
    /// repair.)
    Add,
}

/// What an added check is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Form {
    /// An init container: a copy of the Pod's last check that can be copied, or else made from the
    /// `template`.
    #[default]
    InitContainer,
    /// An image volume. It needs no command in the image, no container and no second of start-up.
    /// It needs Kubernetes 1.35 or newer, on the API server and on every node.
    ImageVolume,
}

/// The fields that a template can't have, with a dot before a field of a field, and why.
pub const FORBIDDEN_IN_TEMPLATE: [(&str, &str); 10] = [
    ("name", OWN),
    ("image", OWN),
    ("imagePullPolicy", OWN),
    ("lifecycle", NO_PROBES),
    ("livenessProbe", NO_PROBES),
    ("readinessProbe", NO_PROBES),
    ("startupProbe", NO_PROBES),
    ("restartPolicy", ENDS),
    ("restartPolicyRules", ENDS),
    ("resources.claims", "the Pods don't have this claim"),
];
const OWN: &str = "every added check has its own";
const NO_PROBES: &str = "an init container has none";
const ENDS: &str = "a check runs once and ends";

/// Reads the template as it is written. The error begins with a dot and the path of the field.
fn template<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Box<Container>>, D::Error> {
    let fields = Value::deserialize(source)?;
    let container = container::read(&fields).map_err(|(path, problem)| {
        if path.is_empty() {
            D::Error::custom("must be an object")
        } else {
            D::Error::custom(format_args!(".{path}: {problem}"))
        }
    })?;
    Ok(Some(Box::new(container)))
}

/// What is wrong with the template, a sentence for each problem.
pub fn problems(template: &Container) -> Vec<String> {
    let (fields, unset) = (json!(template), json!(Container::default()));
    let is_set = |field: &str| {
        let path = ["/", &field.replace('.', "/")].concat();
        fields.pointer(&path) != unset.pointer(&path)
    };
    let set = FORBIDDEN_IN_TEMPLATE
        .into_iter()
        .filter(|(field, _)| is_set(field));
    let mut problems: Vec<_> = set
        .map(|(field, why)| format!("imageChecks.template.{field} can't be set: {why}"))
        .collect();
    if template.command.as_ref().is_none_or(Vec::is_empty) {
        let problem = "imageChecks.template.command is required: without it, a check would run the image's own program";
        problems.push(problem.to_owned());
    }
    // The API server would reject the Pod.
    let mut paths = BTreeSet::from([""]);
    let mut mounts = template.volume_mounts.iter().flatten();
    if !mounts.all(|mount| paths.insert(&mount.mount_path)) {
        let problem =
            "imageChecks.template.volumeMounts needs a mountPath in each entry, and none twice";
        problems.push(problem.to_owned());
    }
    problems
}
