//! The nodes that a Pod asks for, by `os.name`, `nodeSelector` and `affinity`: their operating system
//! and their platforms.
//!
//! A value that can't be read is ignored, because the API server refuses such an object.

use std::borrow::Cow;
use std::fmt;

use oci_spec::image::{Arch, Os, Platform};

use crate::document::Node;

const ARCH_LABEL: &str = "kubernetes.io/arch";
const OS_LABEL: &str = "kubernetes.io/os";
/// An older name of [`OS_LABEL`].
const OLD_OS_LABEL: &str = "beta.kubernetes.io/os";
const WINDOWS: &str = "windows";

/// The largest number of terms that are read for the platforms, and of values that are read from the
/// first `In` expression of a label. Go supports fewer architectures, so an honest Pod needs no more
/// values.
const VALUES_MAX: usize = 32;

/// Whether a Pod is for Windows nodes. `spec.os.name`, the `nodeSelector` and the required node
/// affinity are tried in this order. The first of these that names an operating system decides. An
/// affinity names Windows if each of its terms allows only Windows.
pub(super) fn is_windows(spec: &Node<'_>, os_name: Option<&str>) -> bool {
    let labels = [OS_LABEL, OLD_OS_LABEL];
    let selected = labels.into_iter().find_map(|label| selected(spec, label));
    let os_name = os_name.filter(|name| !name.is_empty());
    if let Some(os) = os_name.or(selected.as_deref()) {
        return os == WINDOWS;
    }
    let is_windows = |term: &Node<'_>| {
        allowed_values(term, &labels)
            .is_some_and(|values| matches!(&values[..], [os] if os == WINDOWS))
    };
    let terms = affinity_terms(spec);
    !terms.is_empty() && terms.iter().all(is_windows)
}

/// The value of a label in the `nodeSelector`.
fn selected<'a>(spec: &Node<'a>, label: &str) -> Option<Cow<'a, str>> {
    spec.get("nodeSelector")?.string(label).ok()?
}

/// The terms of the required node affinity. They are alternatives: the scheduler may choose any term.
fn affinity_terms<'a>(spec: &Node<'a>) -> Vec<Node<'a>> {
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
fn allowed_values<'a>(term: &Node<'a>, labels: &[&str]) -> Option<Vec<Cow<'a, str>>> {
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
    let values = |expression: &Node<'a>| -> Vec<Cow<'a, str>> {
        let values = expression.get("values").map(|values| values.elements());
        let values = values.unwrap_or_default().into_iter();
        values.filter_map(|value| value.as_string().ok()).collect()
    };
    let mut common = values(&lists.next()?);
    common.truncate(VALUES_MAX);
    for list in lists {
        let others = values(&list);
        common.retain(|value| others.contains(value));
    }
    Some(common)
}

/// A platform that a Pod asks for. A part that is not set matches any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestedPlatform {
    architecture: Option<Arch>,
    os: Option<Os>,
}

impl RequestedPlatform {
    fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `platform` has the architecture and the operating system that the Pod asks for.
    pub(crate) fn is_met_by(&self, platform: &Platform) -> bool {
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
pub(crate) struct RequestedPlatforms {
    /// The platforms. Each looked-up image has to exist for all these platforms.
    pub(crate) platforms: Vec<RequestedPlatform>,
    /// The field of the Pod spec that a person would change to ask for other platforms.
    pub(crate) field: &'static str,
}

impl RequestedPlatforms {
    /// Reads `nodeSelector`, the required `nodeAffinity` and `os.name`. Only the operator `In` of an
    /// affinity counts. The image has to exist for the platforms of all terms. A term that contradicts
    /// another field is skipped. If `nodeSelector` contradicts `os.name`, no platform is returned.
    pub(super) fn read(spec: &Node<'_>, os_name: Option<&str>) -> Self {
        let by_selector = RequestedPlatform {
            architecture: selected(spec, ARCH_LABEL).map(|label| Arch::from(&*label)),
            os: selected(spec, OS_LABEL).map(|label| Os::from(&*label)),
        };
        let by_name = RequestedPlatform {
            architecture: None,
            os: os_name.map(Os::from),
        };
        let mut alternatives = platforms_of_terms(spec);
        let field = if !by_selector.is_any() {
            "nodeSelector"
        } else if alternatives.is_empty() {
            "os"
        } else {
            "affinity"
        };
        let Some(always) = by_selector.and(&by_name) else {
            return Self::default();
        };
        let mut platforms = Vec::new();
        if alternatives.is_empty() {
            alternatives.push(RequestedPlatform::default());
        }
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
fn platforms_of_terms(spec: &Node<'_>) -> Vec<RequestedPlatform> {
    // A label that no expression names allows any value.
    let values = |term, label| {
        let values = allowed_values(term, &[label]);
        values.map_or(vec![None], |values| values.into_iter().map(Some).collect())
    };
    let mut wanted = Vec::new();
    for term in affinity_terms(spec).iter().take(VALUES_MAX) {
        let systems = values(term, OS_LABEL);
        for architecture in values(term, ARCH_LABEL) {
            for os in &systems {
                wanted.push(RequestedPlatform {
                    architecture: architecture.as_deref().map(Arch::from),
                    os: os.as_deref().map(Os::from),
                });
            }
        }
    }
    wanted
}
