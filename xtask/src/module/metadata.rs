//! A policy's metadata, in `metadata.yml` and in the custom section of an annotated module.
//!
//! The fields are Kubewarden's. An unknown key is an error here, because Kubewarden would silently ignore
//! the key. In CI, `kwctl annotate` checks the contents of `rules`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::module::sections;

/// The custom section that holds the metadata.
pub(crate) const SECTION: &str = "io.kubewarden.metadata";

/// The annotation with the name and version of the tool that annotated the module.
const ANNOTATED_BY: &str = "io.kubewarden.kwctl";

/// The annotation with the policy's README.
const USAGE: &str = "io.kubewarden.policy.usage";

/// A policy's metadata. The fields have the order in which Kubewarden writes them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Metadata {
    /// The version of Kubewarden's protocol. `cargo xtask annotate` asks the module for this version.
    #[serde(default)]
    pub(crate) protocol_version: Option<String>,
    /// The requests that the policy examines.
    pub(crate) rules: Vec<Rule>,
    /// Annotations, such as `io.kubewarden.policy.title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<BTreeMap<String, String>>,
    /// Whether the policy changes objects.
    pub(crate) mutating: bool,
    /// Whether the audit scanner runs the policy.
    #[serde(default = "yes")]
    pub(crate) background_audit: bool,
    /// The calling convention of the module.
    #[serde(default)]
    pub(crate) execution_mode: ExecutionMode,
    /// The kind of the policy's requests.
    #[serde(default)]
    pub(crate) policy_type: PolicyType,
    /// The Kubernetes resources that the policy reads.
    #[serde(default)]
    pub(crate) context_aware_resources: BTreeSet<ContextAwareResource>,
    /// The host capabilities that the policy uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host_capabilities: Option<BTreeSet<String>>,
    /// The oldest version of Kubewarden that the policy works with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) minimum_kubewarden_version: Option<Version>,
}

const fn yes() -> bool {
    true
}

/// A rule of a webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rule {
    /// API groups. The core group is the empty text.
    pub(crate) api_groups: Vec<String>,
    /// API versions, such as `v1`.
    pub(crate) api_versions: Vec<String>,
    /// Resources, such as `pods` or `pods/ephemeralcontainers`.
    pub(crate) resources: Vec<String>,
    /// Operations, such as `CREATE`.
    pub(crate) operations: Vec<Operation>,
}

/// An operation of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
    #[serde(rename = "*")]
    All,
}

/// The calling convention of a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExecutionMode {
    /// waPC, the only calling convention that these tools support.
    #[default]
    #[serde(rename = "kubewarden-wapc")]
    Wapc,
    Wasi,
    Opa,
    Gatekeeper,
}

/// The kind of a policy's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PolicyType {
    /// Admission requests.
    #[default]
    Kubernetes,
    /// Any JSON.
    Raw,
}

/// A Kubernetes resource that a policy reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ContextAwareResource {
    /// Group and version.
    pub(crate) api_version: String,
    /// The kind, such as `Namespace`.
    pub(crate) kind: String,
}

impl Metadata {
    /// Reads and checks a `metadata.yml`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let metadata: Self = yaml_serde::from_str(text)?;
        metadata.check()?;
        Ok(metadata)
    }

    /// The metadata of an annotated module. `None` if the module isn't annotated.
    pub(crate) fn of_module(module: &[u8]) -> Result<Option<Self>> {
        sections::custom_section(module, SECTION)?
            .map(|json| {
                serde_json::from_slice(json)
                    .with_context(|| format!("cannot read the custom section {SECTION}"))
            })
            .transpose()
    }

    /// Adds the version of the protocol, the version of this tool, and the README.
    pub(crate) fn complete(&mut self, protocol_version: String, usage: Option<String>) {
        self.protocol_version = Some(protocol_version);
        let annotations = self.annotations.get_or_insert_default();
        annotations.insert(
            ANNOTATED_BY.to_owned(),
            concat!("xtask ", env!("CARGO_PKG_VERSION")).to_owned(),
        );
        if let Some(usage) = usage {
            annotations.insert(USAGE.to_owned(), usage);
        }
    }

    fn check(&self) -> Result<()> {
        if self.execution_mode != ExecutionMode::Wapc {
            bail!("executionMode: only kubewarden-wapc policies can be annotated here");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "rules: []\nmutating: true\n";

    fn with_rule(groups: &str, versions: &str, resources: &str, operations: &str) -> String {
        format!(
            "mutating: true\nrules:\n- apiGroups: {groups}\n  apiVersions: {versions}\n  \
             resources: {resources}\n  operations: {operations}\n"
        )
    }

    #[test]
    fn defaults_are_kubewardens() {
        let mut metadata = Metadata::parse(MINIMAL).expect("metadata");
        metadata.complete("v1".to_owned(), Some("# Usage\n".to_owned()));
        assert_eq!(
            serde_json::to_string(&metadata).expect("json"),
            format!(
                r##"{{"protocolVersion":"v1","rules":[],"annotations":{{"io.kubewarden.kwctl":"xtask {}","io.kubewarden.policy.usage":"# Usage\n"}},"mutating":true,"backgroundAudit":true,"executionMode":"kubewarden-wapc","policyType":"kubernetes","contextAwareResources":[]}}"##,
                env!("CARGO_PKG_VERSION")
            )
        );
    }

    #[test]
    fn everything_that_is_set_is_kept() {
        let text = "mutating: false\nbackgroundAudit: false\npolicyType: raw\n\
            rules:\n- apiGroups: [\"\"]\n  apiVersions: [v1]\n  resources: [pods]\n  operations: [CREATE, UPDATE]\n\
            contextAwareResources: [{apiVersion: v1, kind: Namespace}]\n\
            hostCapabilities: [oci/v1/manifest_digest]\nminimumKubewardenVersion: 1.36.0\n\
            annotations: {io.kubewarden.policy.title: x}\n";
        let metadata = Metadata::parse(text).expect("metadata");
        let json = serde_json::to_value(&metadata).expect("json");
        assert_eq!(json["backgroundAudit"], false);
        assert_eq!(json["policyType"], "raw");
        assert_eq!(json["rules"][0]["operations"][1], "UPDATE");
        assert_eq!(json["contextAwareResources"][0]["kind"], "Namespace");
        assert_eq!(json["hostCapabilities"][0], "oci/v1/manifest_digest");
        assert_eq!(json["minimumKubewardenVersion"], "1.36.0");
        assert_eq!(json["annotations"]["io.kubewarden.policy.title"], "x");
    }

    #[test]
    fn unknown_keys_are_named() {
        for (text, key) in [
            (format!("{MINIMAL}contextAware: false\n"), "contextAware"),
            (
                format!("{MINIMAL}hostcapabilities: []\n"),
                "hostcapabilities",
            ),
            (
                with_rule("['']", "[v1]", "[pods]", "[CREATE]\n  scope: '*'"),
                "scope",
            ),
        ] {
            let error = format!("{:#}", Metadata::parse(&text).expect_err(&text));
            assert!(error.contains(&format!("unknown field `{key}`")), "{error}");
        }
    }

    #[test]
    fn keys_without_a_default_are_required() {
        for (text, field) in [("mutating: true", "rules"), ("rules: []", "mutating")] {
            let error = format!("{:#}", Metadata::parse(text).expect_err(text));
            assert!(error.contains(field), "{error}");
        }
    }

    #[test]
    fn other_execution_modes_are_refused() {
        assert!(Metadata::parse("rules: []\nmutating: true\nexecutionMode: opa\n").is_err());
    }
}
