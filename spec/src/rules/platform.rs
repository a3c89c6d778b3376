//! **registry**, `registry.platform`: "the platforms that the image's index has, against the
//! architecture and OS that the Pod asks for".
//!
//! **Decided**: demands that contradict each other ask for nothing. An index that names no platform is
//! not compared. A manifest that can't be had is a failed lookup.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::pod::Pod;
use crate::rules::registry::{find, places_of};
use crate::verdict::Weight;

const ARCH: &str = "kubernetes.io/arch";
const OS: &str = "kubernetes.io/os";

/// OS and architecture; `None` where the Pod doesn't mind.
pub(crate) type Asked = (Option<String>, Option<String>);

/// What the Pod asks for: "`nodeSelector` and required `nodeAffinity` …, `spec.os.name`". "Only `In`
/// counts in affinities, terms are alternatives". Empty where it asks for nothing.
pub(crate) fn asked_for(spec: &Value) -> Vec<Asked> {
    let selected = |label: &str| {
        spec.get("nodeSelector")?
            .get(label)?
            .as_str()
            .map(|value| BTreeSet::from([value.to_owned()]))
    };
    let os_name = spec
        .pointer("/os/name")
        .and_then(Value::as_str)
        .map(|name| BTreeSet::from([name.to_owned()]));
    let os = both(selected(OS), os_name);
    let arch = selected(ARCH);
    let terms = spec
        .pointer(
            "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
        )
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    // A term that contradicts itself lets no node have the Pod, and is no alternative.
    let is_met = |term: &Value| {
        [OS, ARCH]
            .into_iter()
            .all(|label| values_in(term, label).is_none_or(|values| !values.is_empty()))
    };
    let terms: Vec<Value> = terms.into_iter().filter(is_met).collect();
    let terms = if terms.is_empty() {
        vec![Value::Null]
    } else {
        terms
    };
    let mut asked = BTreeSet::new();
    for term in terms {
        let os = both(os.clone(), values_in(&term, OS));
        let arch = both(arch.clone(), values_in(&term, ARCH));
        for os in options(os) {
            for arch in options(arch.clone()) {
                asked.insert((os.clone(), arch));
            }
        }
    }
    asked.remove(&(None, None));
    asked.into_iter().collect()
}

fn values_in(term: &Value, label: &str) -> Option<BTreeSet<String>> {
    let expressions = term.get("matchExpressions").and_then(Value::as_array);
    expressions
        .into_iter()
        .flatten()
        .filter(|one| one.get("key").and_then(Value::as_str) == Some(label))
        .filter(|one| one.get("operator").and_then(Value::as_str) == Some("In"))
        .map(|one| {
            let values = one
                .get("values")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            values
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        })
        .fold(None, |all, one| both(all, Some(one)))
}

fn both(a: Option<BTreeSet<String>>, b: Option<BTreeSet<String>>) -> Option<BTreeSet<String>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.intersection(&b).cloned().collect()),
        (a, b) => a.or(b),
    }
}

fn options(values: Option<BTreeSet<String>>) -> Vec<Option<String>> {
    match values {
        Some(values) => values.into_iter().map(Some).collect(),
        None => vec![None],
    }
}

/// Finds the places whose image lacks a platform. "No index, or a Pod that asks for nothing: nothing
/// to say."
pub(crate) fn compare(
    pod: &mut Pod,
    normalised: &str,
    asked: &[Asked],
    there: Option<&[(String, String)]>,
) {
    // "`unknown/unknown` entries (attestations) don't count"
    let there: Vec<_> = there
        .unwrap_or_default()
        .iter()
        .filter(|(os, arch)| (os.as_str(), arch.as_str()) != ("unknown", "unknown"))
        .collect();
    // "of several platforms asked for, each must exist"
    let is_there = |(os, arch): &Asked| {
        there.iter().any(|(has_os, has_arch)| {
            os.as_ref().is_none_or(|os| os == has_os)
                && arch.as_ref().is_none_or(|arch| arch == has_arch)
        })
    };
    if there.is_empty() || asked.iter().all(is_there) {
        return;
    }
    // "`Warn` never rejects."
    let weight = if pod.settings.platform() == "Reject" {
        Weight::Rejects
    } else {
        Weight::Warns
    };
    // **Decided**: a missing platform is one finding, at the first place of the image.
    if let Some(&place) = places_of(pod, normalised).first() {
        find(pod, place, weight);
    }
}
