//! The nodes that a Pod asks for: their platforms, and whether all of them run Windows.
//!
//! A value of a wrong shape is ignored here, because the API server refuses such an object.

use std::collections::BTreeSet;
use std::fmt;

use oci_spec::image::{Arch, Os, Platform};
use serde_json::Value;

use crate::json::{elements, text};

/// The largest number of platforms that are compared. Made-up platforms can't hide another one, because no image exists
/// for a made-up platform.
const PLATFORMS_MAX: usize = 32;

/// The nodes that a Pod asks for.
#[derive(Clone, Debug)]
pub(crate) struct Nodes<'o> {
    /// What each term of the required node affinity allows together with the other fields. The scheduler may choose any
    /// term. A term that no node matches is left out. Without terms, what the other fields allow.
    alternatives: Vec<Alternative<'o>>,
    /// The fields that ask for an operating system or an architecture.
    fields: Vec<&'static str>,
}

impl<'o> Nodes<'o> {
    /// Reads `spec.os.name`, the `nodeSelector` and the required node affinity.
    pub(super) fn of(spec: &'o Value, os_name: Option<&'o str>) -> Self {
        let systems = os_name
            .filter(|name| !name.is_empty())
            .map(|name| vec![name]);
        let name = Alternative {
            systems,
            architectures: None,
        };
        let selector = Alternative::of_selector(spec);
        let terms: Vec<_> = affinity_terms(spec)
            .iter()
            .map(Alternative::of_term)
            .collect();
        let fields = [
            ("os.name", name.asks()),
            ("nodeSelector", selector.asks()),
            ("affinity", terms.iter().any(Alternative::asks)),
        ];
        let others = name.and(&selector);
        let mut alternatives: Vec<_> = terms.iter().map(|term| term.and(&others)).collect();
        if alternatives.is_empty() {
            alternatives.push(others);
        }
        alternatives.retain(Alternative::is_possible);
        let asking = fields
            .into_iter()
            .filter(|(_, asks)| *asks)
            .map(|(field, _)| field);
        Self {
            alternatives,
            fields: asking.collect(),
        }
    }

    /// Whether all of them run Windows.
    pub(crate) fn run_windows(&self) -> bool {
        let is_windows = |one: &Alternative<'_>| one.systems.as_deref() == Some(&["windows"]);
        !self.alternatives.is_empty() && self.alternatives.iter().all(is_windows)
    }

    /// The platforms that the Pod asks for. `spec` is the path of the Pod spec.
    pub(crate) fn platforms(self, spec: &str) -> Platforms<'o> {
        let fields = self.fields.iter().map(|field| [spec, ".", field].concat());
        let mut platforms = Platforms {
            wanted: Vec::new(),
            fields: fields.collect(),
        };
        for Alternative {
            systems,
            architectures,
        } in &self.alternatives
        {
            let systems = parts(systems.as_ref());
            for architecture in parts(architectures.as_ref()) {
                for os in &systems {
                    if platforms.wanted.len() == PLATFORMS_MAX {
                        return platforms;
                    }
                    let platform = Wanted {
                        os: *os,
                        architecture,
                    };
                    // Any operating system with any architecture is no platform.
                    if platform != Wanted::ANY && !platforms.wanted.contains(&platform) {
                        platforms.wanted.push(platform);
                    }
                }
            }
        }
        platforms
    }
}

/// The values of a label that are allowed, each once. None stands for any value.
type Allowed<'o> = Option<Vec<&'o str>>;

/// The operating systems and architectures that are allowed at the same time.
#[derive(Clone, Debug, Default)]
struct Alternative<'o> {
    systems: Allowed<'o>,
    architectures: Allowed<'o>,
}

impl<'o> Alternative<'o> {
    /// What a `nodeSelector` allows.
    fn of_selector(spec: &'o Value) -> Self {
        let mut alternative = Self::default();
        for (label, value) in spec
            .get("nodeSelector")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if let Some(value) = value.as_str() {
                alternative.narrow(label, [value]);
            }
        }
        alternative
    }

    /// What a term of the node affinity allows. Only the operator `In` counts.
    fn of_term(term: &'o Value) -> Self {
        let mut alternative = Self::default();
        for expression in elements(term, "matchExpressions") {
            if let (Some(label), Some("In")) =
                (text(expression, "key"), text(expression, "operator"))
            {
                let values = elements(expression, "values")
                    .iter()
                    .filter_map(Value::as_str);
                alternative.narrow(label, values);
            }
        }
        alternative
    }

    /// Allows only these values of a label. Kubelets set the older names of both labels too.
    fn narrow(&mut self, label: &str, values: impl IntoIterator<Item = &'o str>) {
        let allowed = match label {
            "kubernetes.io/os" | "beta.kubernetes.io/os" => &mut self.systems,
            "kubernetes.io/arch" | "beta.kubernetes.io/arch" => &mut self.architectures,
            _ => return,
        };
        let mut seen = BTreeSet::new();
        let values = values
            .into_iter()
            .filter(|value| seen.insert(*value))
            .collect();
        *allowed = common(allowed.as_ref(), Some(&values));
    }

    /// What both allow.
    fn and(&self, other: &Self) -> Self {
        Self {
            systems: common(self.systems.as_ref(), other.systems.as_ref()),
            architectures: common(self.architectures.as_ref(), other.architectures.as_ref()),
        }
    }

    const fn asks(&self) -> bool {
        self.systems.is_some() || self.architectures.is_some()
    }

    fn is_possible(&self) -> bool {
        let is_empty = |allowed: &Allowed<'_>| allowed.as_ref().is_some_and(Vec::is_empty);
        !is_empty(&self.systems) && !is_empty(&self.architectures)
    }
}

/// The values that two lists have in common.
fn common<'o>(one: Option<&Vec<&'o str>>, other: Option<&Vec<&'o str>>) -> Allowed<'o> {
    let (Some(one), Some(other)) = (one, other) else {
        return one.or(other).cloned();
    };
    let mut others: BTreeSet<&str> = BTreeSet::new();
    others.extend(other);
    Some(
        one.iter()
            .copied()
            .filter(|value| others.contains(value))
            .collect(),
    )
}

/// The values of a part of a platform. None, once, stands for any value.
fn parts<'o>(allowed: Option<&Vec<&'o str>>) -> Vec<Option<&'o str>> {
    allowed.map_or_else(
        || vec![None],
        |values| values.iter().copied().map(Some).collect(),
    )
}

/// The terms of the required node affinity.
fn affinity_terms(spec: &Value) -> &[Value] {
    let required =
        spec.pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    required.map_or(&[], |required| elements(required, "nodeSelectorTerms"))
}

/// A platform that a Pod asks for. A part that is not set allows any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted<'o> {
    os: Option<&'o str>,
    architecture: Option<&'o str>,
}

impl Wanted<'_> {
    const ANY: Self = Self {
        os: None,
        architecture: None,
    };

    /// Whether a platform is this one.
    pub(crate) fn is(&self, platform: &Platform) -> bool {
        self.os.is_none_or(|os| *platform.os() == Os::from(os))
            && self
                .architecture
                .is_none_or(|architecture| *platform.architecture() == Arch::from(architecture))
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.os.into_iter().chain(self.architecture).collect();
        f.write_str(&parts.join("/"))
    }
}

/// The platforms that a Pod asks for. Each image has to exist for all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Platforms<'o> {
    /// The platforms.
    pub(crate) wanted: Vec<Wanted<'o>>,
    /// The paths of the fields that ask for them.
    pub(crate) fields: Vec<String>,
}
