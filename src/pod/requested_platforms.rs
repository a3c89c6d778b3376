//! The platforms that a Pod asks for, by `nodeSelector`, `affinity` and `os.name`.

use std::fmt;

use oci_spec::image::{Arch, Os, Platform};
use serde_json::Value;

const ARCH_LABEL: &str = "kubernetes.io/arch";
const OS_LABEL: &str = "kubernetes.io/os";

/// The largest number of terms that are read, and of values that are read from the first `In`
/// expression of a label. Go supports fewer architectures, so an honest Pod needs no more values.
const VALUES_MAX: usize = 32;

/// A platform that a Pod asks for. A part that is not set matches any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedPlatform {
    architecture: Option<Arch>,
    os: Option<Os>,
}

impl RequestedPlatform {
    fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `platform` has the architecture and the operating system that the Pod asks for.
    #[must_use]
    pub fn is_met_by(&self, platform: &Platform) -> bool {
        let architecture = self.architecture.as_ref();
        let os = self.os.as_ref();
        architecture.is_none_or(|wanted| wanted == platform.architecture())
            && os.is_none_or(|wanted| wanted == platform.os())
    }

    /// The platform that meets `self` and `other`. None if the two contradict each other.
    fn and(&self, other: &Self) -> Option<Self> {
        Some(Self {
            architecture: both(self.architecture.as_ref(), other.architecture.as_ref()).ok()?,
            os: both(self.os.as_ref(), other.os.as_ref()).ok()?,
        })
    }
}

/// The common value, or the only value that is set. An error if the two values contradict each other.
fn both<T: Clone + PartialEq>(one: Option<&T>, other: Option<&T>) -> Result<Option<T>, ()> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(()),
        (one, other) => Ok(one.or(other).cloned()),
    }
}

impl fmt::Display for RequestedPlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.os, &self.architecture) {
            (Some(os), Some(architecture)) => write!(f, "{os}/{architecture}"),
            (Some(os), None) => write!(f, "{os}"),
            (None, Some(architecture)) => write!(f, "{architecture}"),
            (None, None) => Ok(()),
        }
    }
}

/// The platforms that a Pod asks for, and the field of the Pod spec that asks for them.
#[derive(Clone, Debug, Default)]
pub struct RequestedPlatforms {
    /// The platforms. Each looked-up image has to exist for all these platforms.
    pub platforms: Vec<RequestedPlatform>,
    /// The field of the Pod spec that a person would change to ask for other platforms.
    pub field: &'static str,
}

impl RequestedPlatforms {
    /// Reads `nodeSelector`, the required `nodeAffinity` and `os.name`. Only the operator `In` of an
    /// affinity counts. The terms of an affinity are alternatives, and the scheduler may choose any
    /// term. So the image has to exist for the platforms of all terms. A term that contradicts another
    /// field is skipped. If `nodeSelector` contradicts `os.name`, no platform is returned.
    ///
    /// A value that can't be read is ignored, because the API server refuses such an object.
    #[must_use]
    pub fn read(
        node_selector: Option<&str>,
        affinity: Option<&str>,
        os_name: Option<&str>,
    ) -> Self {
        let read = |text: Option<&str>| -> Value {
            text.and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default()
        };
        let selector = read(node_selector);
        let selected = |label: &str| selector.get(label).and_then(Value::as_str);
        let by_selector = RequestedPlatform {
            architecture: selected(ARCH_LABEL).map(Arch::from),
            os: selected(OS_LABEL).map(Os::from),
        };
        let by_name = RequestedPlatform {
            architecture: None,
            os: os_name.map(Os::from),
        };
        let terms = affinity_terms(&read(affinity));
        let field = if !by_selector.is_any() {
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
            vec![RequestedPlatform::default()]
        } else {
            terms
        };
        for wanted in alternatives {
            if let Some(wanted) = wanted.and(&always)
                && !wanted.is_any()
                && !platforms.contains(&wanted)
            {
                platforms.push(wanted);
            }
        }
        Self { platforms, field }
    }
}

/// The platforms that the terms of a required node affinity ask for: for each term, all combinations of
/// its operating systems and architectures.
fn affinity_terms(affinity: &Value) -> Vec<RequestedPlatform> {
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
                wanted.push(RequestedPlatform {
                    architecture: architecture.map(Arch::from),
                    os: os.map(Os::from),
                });
            }
        }
    }
    wanted
}

/// The values that all `In` expressions for a label have in common. If there is no `In` expression for
/// the label, the list has one element, which is `None`.
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
