//! **registry**, `registry.platform`: compares the platforms in the image's index with the OS and
//! architecture that the Pod asks for.
//!
//! **Decided**: if the Pod's fields ask for different values of the same label, the Pod counts as
//! asking for no platform. An affinity term that no node can match is no alternative. If an index names no
//! platform, no platform counts as missing. If a manifest can't be fetched, the lookup counts as failed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::json::elements;
use crate::pod::{Pod, required_node_terms};
use crate::rules::registry::{find, places_of};
use crate::verdict::Weight;

const ARCH: &str = "kubernetes.io/arch";
const OS: &str = "kubernetes.io/os";

/// OS and architecture. Each value is `None` if the Pod doesn't ask for a certain one.
pub(crate) type Asked = (Option<String>, Option<String>);

/// The platforms that the Pod asks for in `nodeSelector`, in required `nodeAffinity` and in
/// `spec.os.name`. In the node affinity, only the operator `In` counts, and the terms are
/// alternatives. The list is empty if the Pod asks for no platform.
pub(crate) fn asked_for(spec: &Value) -> Vec<Asked> {
    let one = |value: &Value| Some(BTreeSet::from([value.as_str()?.to_owned()]));
    let selector = &spec["nodeSelector"];
    let os = both(one(&selector[OS]), one(&spec["os"]["name"]));
    let arch = one(&selector[ARCH]);
    let terms = required_node_terms(spec);
    // If two expressions of a term share no value for a label, no node can match the term. So this
    // term is left out.
    let is_met = |term: &Value| {
        [OS, ARCH]
            .into_iter()
            .all(|label| values_in(term, label).is_none_or(|values| !values.is_empty()))
    };
    let alternatives = match terms {
        [] => vec![&Value::Null],
        terms => terms.iter().filter(|term| is_met(term)).collect(),
    };
    let mut asked = BTreeSet::new();
    for term in alternatives {
        let os = both(os.clone(), values_in(term, OS));
        let arch = both(arch.clone(), values_in(term, ARCH));
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
    elements(term, "matchExpressions")
        .iter()
        .filter(|one| one["key"] == label && one["operator"] == "In")
        .map(|one| {
            let values = elements(one, "values").iter();
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

/// Reports an image that lacks a platform that the Pod asks for. An image is not reported if it has no
/// index, if its index names no platform, or if the Pod asks for no platform.
pub(crate) fn compare(
    pod: &mut Pod,
    normalised: &str,
    asked: &[Asked],
    there: Option<&[(String, String)]>,
) {
    // An index entry with the platform `unknown/unknown` is an attestation, not an image. So this
    // entry is left out.
    let there: Vec<_> = there
        .unwrap_or_default()
        .iter()
        .filter(|(os, arch)| (os.as_str(), arch.as_str()) != ("unknown", "unknown"))
        .collect();
    // If the Pod asks for several platforms, the image must have each of them.
    let is_there = |(os, arch): &Asked| {
        there.iter().any(|(has_os, has_arch)| {
            os.as_ref().is_none_or(|os| os == has_os)
                && arch.as_ref().is_none_or(|arch| arch == has_arch)
        })
    };
    if there.is_empty() || asked.iter().all(is_there) {
        return;
    }
    // `platform: Warn` never rejects.
    let weight = if pod.settings.platform() == "Reject" {
        Weight::Rejects
    } else {
        Weight::Warns
    };
    // **Decided**: all missing platforms of an image are one finding, at the first place of the image.
    if let Some(&place) = places_of(pod, normalised).first() {
        find(pod, place, weight);
    }
}
