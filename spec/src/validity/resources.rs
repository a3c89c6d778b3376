//! Requests, limits and claims.

use std::collections::BTreeMap;

use serde_json::Value;

use super::quantity::billionths;
use super::{Container, Faults, containers};
use crate::json::{elements, named};

pub(super) fn check(spec: &Value, faults: &mut Faults) {
    let all = containers(spec);
    for container in &all {
        let claims = elements(&container.fields["resources"], "claims");
        for (index, claim) in claims.iter().enumerate() {
            if named(elements(spec, "resourceClaims"), &claim["name"]).is_none() {
                faults.add(
                    format!("{}.resources.claims[{index}]", container.path),
                    "is no claim of the Pod (validation.go validateResourceClaimNames)",
                );
            }
        }
    }
    of_pod(spec, &all, faults);
}

/// Returns the quantities of `requests` or `limits`, in billionths.
pub(super) fn quantities(resources: &Value, key: &str) -> BTreeMap<String, i128> {
    let list = resources[key].as_object().into_iter().flatten();
    list.filter_map(|(name, quantity)| {
        let quantity = match quantity {
            Value::String(text) => billionths(text)?,
            other => billionths(&other.to_string())?,
        };
        Some((name.clone(), quantity))
    })
    .collect()
}

/// The prefix of the names of resources that are huge pages, for example `hugepages-2Mi`.
const HUGE_PAGES: &str = "hugepages-";

/// Checks the requests and limits in `spec.resources`. Each request must be at least as large as the
/// [`aggregate`] request of the containers, and each limit of huge pages as large as their aggregate
/// limit.
fn of_pod(spec: &Value, all: &[Container<'_>], faults: &mut Faults) {
    for kind in ["requests", "limits"] {
        let of_pod = quantities(&spec["resources"], kind);
        for (name, sum) in aggregate(all, kind) {
            let is_compared = kind == "requests" || name.starts_with(HUGE_PAGES);
            if is_compared && of_pod.get(&name).is_some_and(|of_pod| sum > *of_pod) {
                faults.add(
                    format!("spec.resources.{kind}.{name}"),
                    "must not be below that of all containers (validation.go validatePodResourceConsistency)",
                );
            }
        }
    }
}

/// Returns the amount of each resource that the containers of a Pod request together, at the time when
/// they request most. With the key `limits`, does the same for the limits. There are two sums, and the
/// larger sum counts. The first is the sum of app containers and native sidecars. The second is the
/// largest sum of an init container and the native sidecars before this init container. Source:
/// `staging/src/k8s.io/component-helpers/resource/helpers.go` `AggregateContainerRequests` and
/// `AggregateContainerLimits`.
fn aggregate(all: &[Container<'_>], key: &str) -> BTreeMap<String, i128> {
    let mut running: BTreeMap<String, i128> = BTreeMap::new();
    let mut most: BTreeMap<String, i128> = BTreeMap::new();
    for container in all {
        for (name, amount) in quantities(&container.fields["resources"], key) {
            let beside = running.entry(name.clone()).or_default();
            let sum = *beside + amount;
            if container.list == "containers" || container.is_native_sidecar() {
                *beside = sum;
            }
            let most = most.entry(name).or_default();
            *most = sum.max(*most);
        }
    }
    most
}
