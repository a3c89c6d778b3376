//! The nodes that a Pod asks for, by `os.name`, `nodeSelector` and `affinity`: their operating system
//! and their platforms.
//!
//! A value that can't be read is ignored, because the API server refuses such an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use oci_spec::image::Platform;

use crate::document::Node;

const ARCH_LABEL: &str = "kubernetes.io/arch";
const OS_LABEL: &str = "kubernetes.io/os";
/// An older name of [`OS_LABEL`].
const OLD_OS_LABEL: &str = "beta.kubernetes.io/os";
const WINDOWS: &str = "windows";

/// The largest number of different terms that are read for the platforms, and of different values of a label in a term. Go
/// supports fewer architectures, so an honest Pod needs no more.
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

/// The platforms that one term of an affinity asks for: all combinations of its operating systems and architectures.
/// A part that is not set allows any value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct PlatformsOfTerm {
    architectures: Option<Vec<String>>,
    systems: Option<Vec<String>>,
}

impl PlatformsOfTerm {
    fn of(term: &Node<'_>) -> Self {
        let values = |label| {
            let values = allowed_values(term, &[label])?.into_iter();
            Some(values.take(VALUES_MAX).map(Cow::into_owned).collect())
        };
        Self {
            architectures: values(ARCH_LABEL),
            systems: values(OS_LABEL),
        }
    }

    /// Keeps the platforms with this architecture and this operating system. Returns whether there are any.
    fn limit(&mut self, architecture: Option<&str>, os: Option<&str>) -> bool {
        limit(&mut self.architectures, architecture) && limit(&mut self.systems, os)
    }

    /// The first of these platforms that an image doesn't exist for.
    fn first_missing(&self, has: &PlatformsOfImage) -> Option<String> {
        match (&self.systems, &self.architectures) {
            // An image has few platforms, so this ends soon at one that it lacks.
            (Some(systems), Some(architectures)) => {
                let mut wanted = architectures.iter().flat_map(|architecture| {
                    systems.iter().map(move |os| format!("{os}/{architecture}"))
                });
                wanted.find(|platform| !has.platforms.contains(platform))
            }
            (Some(systems), None) => systems
                .iter()
                .find(|os| !has.systems.contains(*os))
                .cloned(),
            (None, Some(architectures)) => {
                let mut architectures = architectures.iter();
                architectures
                    .find(|one| !has.architectures.contains(*one))
                    .cloned()
            }
            (None, None) => None,
        }
    }
}

/// Keeps the value `only`, if that is set. Returns whether any value is left.
fn limit(values: &mut Option<Vec<String>>, only: Option<&str>) -> bool {
    let Some(only) = only else {
        return values.as_ref().is_none_or(|values| !values.is_empty());
    };
    let is_allowed = |values: &Vec<String>| values.iter().any(|value| value == only);
    let is_allowed = values.as_ref().is_none_or(is_allowed);
    *values = Some(vec![only.to_owned()]);
    is_allowed
}

/// The platforms in the index of an image.
#[derive(Default)]
struct PlatformsOfImage {
    platforms: BTreeSet<String>,
    architectures: BTreeSet<String>,
    systems: BTreeSet<String>,
}

/// The platforms that a Pod asks for, and the field of the Pod spec that asks for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedPlatforms {
    /// Each looked-up image has to exist for all platforms of all terms.
    terms: Vec<PlatformsOfTerm>,
    /// The field of the Pod spec that a person would change to ask for other platforms.
    pub(crate) field: &'static str,
}

impl RequestedPlatforms {
    /// Reads `nodeSelector`, the required `nodeAffinity` and `os.name`. Only the operator `In` of an
    /// affinity counts. The image has to exist for the platforms of all terms. A term that contradicts
    /// another field is skipped. If `nodeSelector` contradicts `os.name`, no platform is returned.
    pub(super) fn read(spec: &Node<'_>, os_name: Option<&str>) -> Self {
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
        let os = selected_os.as_deref().or(os_name);
        let mut seen = BTreeSet::new();
        let mut alternatives: Vec<_> = terms.iter().map(PlatformsOfTerm::of).collect();
        if alternatives.is_empty() {
            alternatives.push(PlatformsOfTerm::default());
        }
        alternatives.retain_mut(|one| {
            one.limit(architecture.as_deref(), os)
                && (one.architectures.is_some() || one.systems.is_some())
                && seen.insert(one.clone())
        });
        alternatives.truncate(VALUES_MAX);
        Self {
            terms: alternatives,
            field,
        }
    }

    /// Whether the Pod asks for no platform.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The first requested platform that an image doesn't exist for.
    pub(crate) fn first_missing(&self, index: &[&Platform]) -> Option<String> {
        let mut has = PlatformsOfImage::default();
        for platform in index {
            let (os, architecture) = (platform.os(), platform.architecture());
            has.platforms.insert(format!("{os}/{architecture}"));
            has.systems.insert(os.to_string());
            has.architectures.insert(architecture.to_string());
        }
        self.terms.iter().find_map(|term| term.first_missing(&has))
    }
}
