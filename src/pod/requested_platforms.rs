//! The nodes that a Pod asks for, by `os.name`, `nodeSelector` and `affinity`: their operating system
//! and their platforms.
//!
//! A value that can't be read is ignored, because the API server refuses such an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use oci_spec::image::{Arch, Os, Platform};

use crate::document::Node;

const ARCH_LABEL: &str = "kubernetes.io/arch";
const OS_LABEL: &str = "kubernetes.io/os";
/// An older name of [`OS_LABEL`].
const OLD_OS_LABEL: &str = "beta.kubernetes.io/os";
const WINDOWS: &str = "windows";

/// The largest number of terms that are read for the platforms, and of different values of a label in a term. Go
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
#[derive(Clone, Debug, Default)]
struct PlatformsOfTerm {
    architectures: Option<Vec<Arch>>,
    systems: Option<Vec<Os>>,
}

impl PlatformsOfTerm {
    fn of(term: &Node<'_>) -> Self {
        let architectures = allowed_values(term, &[ARCH_LABEL]).map(|mut values| {
            values.truncate(VALUES_MAX);
            values.iter().map(|value| Arch::from(&**value)).collect()
        });
        let systems = allowed_values(term, &[OS_LABEL]).map(|mut values| {
            values.truncate(VALUES_MAX);
            values.iter().map(|value| Os::from(&**value)).collect()
        });
        Self {
            architectures,
            systems,
        }
    }

    /// Keeps the platforms with this architecture and this operating system. Returns whether there are any.
    fn limit(&mut self, architecture: Option<&Arch>, os: Option<&Os>) -> bool {
        limit(&mut self.architectures, architecture) && limit(&mut self.systems, os)
    }

    /// The first of these platforms that an image doesn't exist for.
    fn first_missing(&self, has: &PlatformsOfImage) -> Option<String> {
        let any = [None];
        let architectures = self.architectures.as_ref();
        let architectures =
            architectures.map(|all| all.iter().map(|one| Some(one.to_string())).collect());
        let systems = self.systems.as_ref();
        let systems = systems.map(|all| all.iter().map(|one| Some(one.to_string())).collect());
        let architectures: Vec<Option<String>> = architectures.unwrap_or_else(|| any.to_vec());
        let systems: Vec<Option<String>> = systems.unwrap_or_else(|| any.to_vec());
        // An image has few platforms, so this ends soon at one that it lacks.
        let mut wanted = architectures
            .iter()
            .flat_map(|one| systems.iter().map(move |os| (one, os)));
        wanted.find_map(|(architecture, os)| match (os, architecture) {
            (Some(os), Some(architecture)) => {
                let platform = format!("{os}/{architecture}");
                (!has.platforms.contains(&platform)).then_some(platform)
            }
            (Some(os), None) => (!has.systems.contains(os)).then(|| os.clone()),
            (None, Some(one)) => (!has.architectures.contains(one)).then(|| one.clone()),
            (None, None) => None,
        })
    }
}

/// Keeps the value `only`, if that is set. Returns whether it was allowed.
fn limit<T: Clone + PartialEq>(values: &mut Option<Vec<T>>, only: Option<&T>) -> bool {
    let Some(only) = only else {
        return true;
    };
    let is_allowed = values.as_ref().is_none_or(|values| values.contains(only));
    *values = Some(vec![only.clone()]);
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
        let architecture = selected(spec, ARCH_LABEL).map(|label| Arch::from(&*label));
        let selected_os = selected(spec, OS_LABEL).map(|label| Os::from(&*label));
        let named_os = os_name.map(Os::from);
        let terms = affinity_terms(spec);
        let field = if architecture.is_some() || selected_os.is_some() {
            "nodeSelector"
        } else if terms.is_empty() {
            "os"
        } else {
            "affinity"
        };
        if let (Some(selected), Some(named)) = (&selected_os, &named_os)
            && selected != named
        {
            return Self::default();
        }
        let os = selected_os.or(named_os);
        let mut alternatives: Vec<PlatformsOfTerm> = terms
            .iter()
            .take(VALUES_MAX)
            .map(PlatformsOfTerm::of)
            .collect();
        if alternatives.is_empty() {
            alternatives.push(PlatformsOfTerm::default());
        }
        alternatives.retain_mut(|one| {
            one.limit(architecture.as_ref(), os.as_ref())
                && (one.architectures.is_some() || one.systems.is_some())
        });
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
