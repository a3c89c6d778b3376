//! The platforms that a Pod asks for: where it says on which nodes it may run.

use std::fmt;

use oci_spec::image::{Arch, Os, Platform};
use serde_json::Value;

use super::Pod;

/// The label of a node's architecture, `kubernetes.io/arch`.
const ARCH_LABEL: &str = "kubernetes.io/arch";
/// The label of a node's operating system, `kubernetes.io/os`.
const OS_LABEL: &str = "kubernetes.io/os";

/// The most values of a label, and the most terms, that are looked at. Go knows fewer
/// architectures, and nobody's Pod asks for so many; a hostile one may.
const VALUES_MAX: usize = 32;

/// A platform that a Pod asks for: what is none, it doesn't say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    architecture: Option<Arch>,
    os: Option<Os>,
}

impl Wanted {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a node of this platform is one that it asks for.
    #[must_use]
    pub fn is_met_by(&self, platform: &Platform) -> bool {
        let architecture = self.architecture.as_ref();
        let os = self.os.as_ref();
        architecture.is_none_or(|wanted| wanted == platform.architecture())
            && os.is_none_or(|wanted| wanted == platform.os())
    }

    /// Both together; none if they contradict each other, which no node meets.
    fn and(&self, other: &Self) -> Option<Self> {
        Some(Self {
            architecture: both(self.architecture.as_ref(), other.architecture.as_ref()).ok()?,
            os: both(self.os.as_ref(), other.os.as_ref()).ok()?,
        })
    }
}

/// What both say, or the one that says something.
fn both<T: Clone + PartialEq>(one: Option<&T>, other: Option<&T>) -> Result<Option<T>, ()> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(()),
        (one, other) => Ok(one.or(other).cloned()),
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.os, &self.architecture) {
            (Some(os), Some(architecture)) => write!(f, "{os}/{architecture}"),
            (Some(os), None) => write!(f, "{os}"),
            (None, Some(architecture)) => write!(f, "{architecture}"),
            (None, None) => Ok(()),
        }
    }
}

/// What a Pod asks for, and where it says so.
#[derive(Clone, Debug, Default)]
pub struct AskedPlatforms {
    /// The platforms, each of which has to exist.
    pub platforms: Vec<Wanted>,
    /// The field below the Pod spec that a person would change.
    pub field: &'static str,
}

impl AskedPlatforms {
    /// Reads `nodeSelector`, required `nodeAffinity` and `os.name`. Of an affinity only `In`
    /// counts, its terms are alternatives, and a Pod must be able to start wherever they let it.
    ///
    /// What can't be read asks for nothing; the API server refuses it.
    #[must_use]
    pub fn by(pod: &Pod<'_>) -> Self {
        let read = |text: Option<&str>| -> Value {
            text.and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default()
        };
        let selector = read(pod.node_selector);
        let selected = |label: &str| selector.get(label).and_then(Value::as_str);
        let by_selector = Wanted {
            architecture: selected(ARCH_LABEL).map(Arch::from),
            os: selected(OS_LABEL).map(Os::from),
        };
        let by_name = Wanted {
            architecture: None,
            os: pod.os.as_deref().map(Os::from),
        };
        let terms = terms(&read(pod.affinity));
        let field = if !by_selector.is_nothing() {
            "nodeSelector"
        } else if terms.is_empty() {
            "os"
        } else {
            "affinity"
        };
        let Some(always) = by_selector.and(&by_name) else {
            return Self::default();
        };
        let mut platforms = Vec::new();
        let alternatives = if terms.is_empty() {
            vec![Wanted::default()]
        } else {
            terms
        };
        for wanted in alternatives {
            if let Some(wanted) = wanted.and(&always)
                && !wanted.is_nothing()
                && !platforms.contains(&wanted)
            {
                platforms.push(wanted);
            }
        }
        Self { platforms, field }
    }
}

/// What each term of a required node affinity asks for, every combination by itself.
fn terms(affinity: &Value) -> Vec<Wanted> {
    let terms = affinity
        .pointer("/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    let mut wanted = Vec::new();
    for term in terms
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(VALUES_MAX)
    {
        let expressions = term.get("matchExpressions").and_then(Value::as_array);
        let expressions = expressions.map(Vec::as_slice).unwrap_or_default();
        let systems = values(expressions, OS_LABEL);
        for architecture in values(expressions, ARCH_LABEL) {
            for os in &systems {
                wanted.push(Wanted {
                    architecture: architecture.map(Arch::from),
                    os: os.map(Os::from),
                });
            }
        }
    }
    wanted
}

/// The values that all `In` of a label have; one none where nobody asks.
fn values<'e>(expressions: &'e [Value], label: &str) -> Vec<Option<&'e str>> {
    let is = |expression: &Value, key: &str, value: &str| {
        expression.get(key).and_then(Value::as_str) == Some(value)
    };
    let mut lists = expressions
        .iter()
        .filter(|expression| is(expression, "key", label) && is(expression, "operator", "In"))
        .map(|expression| expression.get("values").and_then(Value::as_array));
    let Some(first) = lists.next() else {
        return vec![None];
    };
    let others: Vec<_> = lists
        .map(|list| list.map(Vec::as_slice).unwrap_or_default())
        .collect();
    let first = first.into_iter().flatten().take(VALUES_MAX);
    first
        .filter(|value| others.iter().all(|list| list.contains(value)))
        .filter_map(|value| value.as_str().map(Some))
        .collect()
}
