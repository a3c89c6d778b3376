//! The nodes that a Pod asks for: their operating system, and their platforms.
//!
//! A value of a wrong shape is ignored here, because the API server refuses such an object.

use std::collections::BTreeSet;

use oci_spec::image::{Arch, Os, Platform};
use serde_json::Value;

const ARCH_LABEL: &str = "kubernetes.io/arch";
const OS_LABEL: &str = "kubernetes.io/os";
/// An older name of [`OS_LABEL`], which kubelets still set.
const OLD_OS_LABEL: &str = "beta.kubernetes.io/os";
const WINDOWS: &str = "windows";

/// The largest number of platforms that are compared. Made-up platforms can't hide another one, because no image exists
/// for a made-up platform.
const PLATFORMS_MAX: usize = 32;

/// Whether a Pod is for Windows nodes. `spec.os.name`, the `nodeSelector` and the required node affinity are asked in this
/// order. The first that names an operating system decides.
pub(super) fn is_windows(spec: &Value, os_name: Option<&str>) -> bool {
    let labels = [OS_LABEL, OLD_OS_LABEL];
    let os_name = os_name.filter(|name| !name.is_empty());
    if let Some(os) = os_name.or_else(|| labels.into_iter().find_map(|label| selected(spec, label)))
    {
        return os == WINDOWS;
    }
    let is_windows =
        |term| labels.iter().any(|label| allowed(term, label).is_some_and(|os| os == [WINDOWS]));
    let terms = affinity_terms(spec);
    !terms.is_empty() && terms.iter().all(is_windows)
}

/// The value of a label in the `nodeSelector`.
fn selected<'o>(spec: &'o Value, label: &str) -> Option<&'o str> {
    spec.get("nodeSelector")?.get(label)?.as_str()
}

/// The terms of the required node affinity. They are alternatives: the scheduler may choose any term.
fn affinity_terms(spec: &Value) -> &[Value] {
    let terms = spec
        .pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms")
        .and_then(Value::as_array);
    terms.map_or(&[], Vec::as_slice)
}

/// The values of a label that all `In` expressions of a term have in common. None if there is no such expression.
fn allowed<'o>(term: &'o Value, label: &str) -> Option<Vec<&'o str>> {
    let expressions = term.get("matchExpressions")?.as_array()?.iter();
    let mut lists = expressions
        .filter(|expression| expression.get("key").and_then(Value::as_str) == Some(label));
    let mut lists = lists
        .by_ref()
        .filter(|expression| expression.get("operator").and_then(Value::as_str) == Some("In"));
    let mut common = values(lists.next()?);
    let mut seen = BTreeSet::new();
    common.retain(|value| seen.insert(*value));
    for list in lists {
        let others: BTreeSet<&str> = values(list).into_iter().collect();
        common.retain(|value| others.contains(value));
    }
    Some(common)
}

fn values(expression: &Value) -> Vec<&str> {
    let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).collect()
}

/// A platform that a Pod asks for. A part that is not set allows any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted<'o> {
    os: Option<&'o str>,
    architecture: Option<&'o str>,
}

impl Wanted<'_> {
    /// Whether a platform is this one.
    pub(crate) fn is(&self, platform: &Platform) -> bool {
        self.os.is_none_or(|os| *platform.os() == Os::from(os))
            && self
                .architecture
                .is_none_or(|architecture| *platform.architecture() == Arch::from(architecture))
    }
}

impl std::fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<&str> = self.os.into_iter().chain(self.architecture).collect();
        f.write_str(&parts.join("/"))
    }
}

/// The platforms that a Pod asks for. Each image has to exist for all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Platforms<'o> {
    /// The platforms.
    pub(crate) wanted: Vec<Wanted<'o>>,
    /// The field of the Pod spec that a person would change to ask for other platforms.
    pub(crate) field: &'static str,
}

impl<'o> Platforms<'o> {
    /// Reads the `nodeSelector` and the required node affinity, of which only the operator `In` counts. A term that
    /// contradicts the `nodeSelector` is left out.
    pub(super) fn of(spec: &'o Value) -> Self {
        let (os, architecture) = (selected(spec, OS_LABEL), selected(spec, ARCH_LABEL));
        let terms = affinity_terms(spec);
        let is_selected = os.is_some() || architecture.is_some();
        let mut platforms = Self {
            wanted: Vec::new(),
            field: if is_selected { "nodeSelector" } else { "affinity" },
        };
        if terms.is_empty() {
            platforms.add(&[os], &[architecture]);
        }
        for term in terms {
            platforms.add(
                &alternatives(term, OS_LABEL, os),
                &alternatives(term, ARCH_LABEL, architecture),
            );
        }
        platforms
    }

    /// Adds the combinations of these values. The combination of any operating system and any architecture is no platform.
    fn add(&mut self, systems: &[Option<&'o str>], architectures: &[Option<&'o str>]) {
        for architecture in architectures {
            for os in systems {
                let wanted = Wanted { os: *os, architecture: *architecture };
                if self.wanted.len() == PLATFORMS_MAX {
                    return;
                }
                if (os.is_some() || architecture.is_some()) && !self.wanted.contains(&wanted) {
                    self.wanted.push(wanted);
                }
            }
        }
    }
}

/// The values of a label that a term and the `nodeSelector` allow. None stands for any value. Empty if they contradict each
/// other.
fn alternatives<'o>(
    term: &'o Value,
    label: &str,
    selected: Option<&'o str>,
) -> Vec<Option<&'o str>> {
    match (allowed(term, label), selected) {
        (Some(values), Some(selected)) if !values.contains(&selected) => Vec::new(),
        (Some(values), None) => values.into_iter().map(Some).collect(),
        (_, selected) => vec![selected],
    }
}
