//! The nodes that a Pod asks for, by `os.name`, `nodeSelector` and `affinity`: their operating system
//! and their platforms.
//!
//! A value that can't be read is ignored, because the API server refuses such an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use oci_spec::image::{Arch, Os, Platform};

use crate::document::JsonNode;

const ARCH_LABEL: &str = "kubernetes.io/arch";
const OS_LABEL: &str = "kubernetes.io/os";
/// An older name of [`OS_LABEL`].
const OLD_OS_LABEL: &str = "beta.kubernetes.io/os";
const WINDOWS: &str = "windows";

/// The largest number of different platforms that are compared. Made-up platforms can't hide another one, because no
/// image exists for a made-up platform.
const PLATFORMS_MAX: usize = 32;

/// Whether a Pod is for Windows nodes. `spec.os.name`, the `nodeSelector` and the required node
/// affinity are tried in this order. The first of these that names an operating system decides. An
/// affinity names Windows if each of its terms allows only Windows.
pub(super) fn is_windows(spec: &JsonNode<'_>, os_name: Option<&str>) -> bool {
    let labels = [OS_LABEL, OLD_OS_LABEL];
    let selected = labels.into_iter().find_map(|label| selected(spec, label));
    let os_name = os_name.filter(|name| !name.is_empty());
    if let Some(os) = os_name.or(selected.as_deref()) {
        return os == WINDOWS;
    }
    let is_windows = |term: &JsonNode<'_>| {
        allowed_values(term, &labels)
            .is_some_and(|values| matches!(&values[..], [os] if os == WINDOWS))
    };
    let terms = affinity_terms(spec);
    !terms.is_empty() && terms.iter().all(is_windows)
}

/// The value of a label in the `nodeSelector`.
fn selected<'a>(spec: &JsonNode<'a>, label: &str) -> Option<Cow<'a, str>> {
    spec.get("nodeSelector")?.string(label).ok()?
}

/// The terms of the required node affinity. They are alternatives: the scheduler may choose any term.
fn affinity_terms<'a>(spec: &JsonNode<'a>) -> Vec<JsonNode<'a>> {
    let path = [
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let terms = path
        .into_iter()
        .try_fold(spec.clone(), |node, key| node.get(key));
    terms.map(|terms| terms.elements()).unwrap_or_default()
}

/// The values that all `In` expressions of a term for these labels have in common. None if there is
/// no such expression.
fn allowed_values<'a>(term: &JsonNode<'a>, labels: &[&str]) -> Option<Vec<Cow<'a, str>>> {
    let mut lists = term
        .get("matchExpressions")?
        .elements()
        .into_iter()
        .filter(|expression| {
            expression
                .string("key")
                .unwrap_or_default()
                .is_some_and(|key| labels.contains(&&*key))
                && expression.string("operator").unwrap_or_default().as_deref() == Some("In")
        });
    let values = |expression: &JsonNode<'a>| -> Vec<Cow<'a, str>> {
        let values = expression.get("values").map(|values| values.elements());
        let values = values.unwrap_or_default().into_iter();
        values.filter_map(|value| value.as_string().ok()).collect()
    };
    let mut seen = BTreeSet::new();
    let mut common = values(&lists.next()?);
    common.retain(|value| seen.insert(value.clone()));
    for list in lists {
        let mut others = BTreeSet::new();
        others.extend(values(&list));
        common.retain(|value| others.contains(value));
    }
    Some(common)
}

/// A platform that a Pod asks for. A part that is not set allows any value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RequestedPlatform {
    os: Option<Os>,
    architecture: Option<Arch>,
}

impl RequestedPlatform {
    fn is(&self, platform: &Platform) -> bool {
        let has_os = |os| platform.os() == os;
        let has_architecture = |architecture| platform.architecture() == architecture;
        self.os.as_ref().is_none_or(has_os)
            && self.architecture.as_ref().is_none_or(has_architecture)
    }
}

/// The platforms that a Pod asks for, and the field of the Pod spec that asks for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedPlatforms {
    /// Each looked-up image has to exist for all of them.
    platforms: Vec<RequestedPlatform>,
    /// The field of the Pod spec that a person would change to ask for other platforms.
    pub(crate) field: &'static str,
}

impl RequestedPlatforms {
    /// Reads `nodeSelector`, the required `nodeAffinity` and `os.name`. Only the operator `In` of an
    /// affinity counts. A term that contradicts another field is skipped. If `nodeSelector` contradicts `os.name`, no
    /// platform is returned.
    pub(super) fn read(spec: &JsonNode<'_>, os_name: Option<&str>) -> Self {
        let architecture = selected(spec, ARCH_LABEL);
        let selected_os = selected(spec, OS_LABEL);
        let terms = affinity_terms(spec);
        let field = if architecture.is_some() || selected_os.is_some() {
            "nodeSelector"
        } else if terms.is_empty() {
            "os"
        } else {
            "affinity"
        };
        if let (Some(selected), Some(named)) = (&selected_os, os_name)
            && selected != named
        {
            return Self::default();
        }
        let (os, architecture) = (selected_os.as_deref().or(os_name), architecture.as_deref());
        let mut platforms = Vec::new();
        if terms.is_empty() {
            add_platforms(&[os], &[architecture], &mut platforms);
        }
        for term in &terms {
            let systems = allowed_values(term, &[OS_LABEL]);
            let architectures = allowed_values(term, &[ARCH_LABEL]);
            let systems = values_or(systems.as_deref(), os);
            let architectures = values_or(architectures.as_deref(), architecture);
            add_platforms(&systems, &architectures, &mut platforms);
        }
        Self { platforms, field }
    }

    /// Whether the Pod asks for no platform.
    pub(crate) fn is_empty(&self) -> bool {
        self.platforms.is_empty()
    }

    /// The first requested platform that an image doesn't exist for.
    pub(crate) fn first_missing(&self, index: &[&Platform]) -> Option<String> {
        let has = |wanted: &RequestedPlatform| index.iter().any(|platform| wanted.is(platform));
        let missing = self.platforms.iter().find(|wanted| !has(wanted))?;
        let os = missing.os.iter().map(Os::to_string);
        let parts = os.chain(missing.architecture.iter().map(Arch::to_string));
        Some(parts.collect::<Vec<_>>().join("/"))
    }
}

/// The values of a label that a term and another field (`only`) allow. None stands for any value. Empty if they
/// contradict each other.
fn values_or<'v>(
    values: Option<&'v [Cow<'_, str>]>,
    only: Option<&'v str>,
) -> Vec<Option<&'v str>> {
    match (values, only) {
        (Some(values), Some(only)) if !values.iter().any(|value| value == only) => Vec::new(),
        (Some(values), None) => values.iter().map(|value| Some(&**value)).collect(),
        (_, only) => vec![only],
    }
}

/// Adds the combinations of these values, up to `PLATFORMS_MAX`. The combination of any operating system and any
/// architecture is no platform.
fn add_platforms(
    systems: &[Option<&str>],
    architectures: &[Option<&str>],
    platforms: &mut Vec<RequestedPlatform>,
) {
    for architecture in architectures {
        for os in systems {
            let platform = RequestedPlatform {
                os: os.map(Os::from),
                architecture: architecture.map(Arch::from),
            };
            let is_any = os.is_none() && architecture.is_none();
            if platforms.len() == PLATFORMS_MAX {
                return;
            }
            if !is_any && !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
    }
}
