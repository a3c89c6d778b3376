//! Requests, limits and claims.

use std::collections::BTreeMap;

use serde_json::Value;

use super::quantity::billionths;
use super::{CONTAINERS, Container, Faults, INIT_CONTAINERS, containers, elements, text};

pub(super) fn check(spec: &Value, faults: &mut Faults) {
    let all = containers(spec, &[CONTAINERS, INIT_CONTAINERS]);
    for container in &all {
        let resources = &container.fields["resources"];
        let path = format!("{}.resources", container.path);
        requests_within_limits(resources, &path, faults);
        claims(spec, resources, &path, faults);
    }
    if spec["resources"].is_object() {
        requests_within_limits(&spec["resources"], "spec.resources", faults);
        pod_level(spec, &all, faults);
    }
}

/// Returns the quantities of `requests` or `limits`, in billionths.
pub(super) fn quantities(resources: &Value, key: &str) -> BTreeMap<String, i128> {
    let list = resources.get(key).and_then(Value::as_object);
    list.into_iter()
        .flatten()
        .filter_map(|(name, quantity)| {
            let quantity = match quantity {
                Value::String(text) => billionths(text)?,
                other => billionths(&other.to_string())?,
            };
            Some((name.clone(), quantity))
        })
        .collect()
}

fn requests_within_limits(resources: &Value, path: &str, faults: &mut Faults) {
    let limits = quantities(resources, "limits");
    for (name, request) in quantities(resources, "requests") {
        if limits.get(&name).is_some_and(|limit| request > *limit) {
            faults.add(
                format!("{path}.requests.{name}"),
                "must be less than or equal to the limit",
                "validation.go ValidateContainerResourceRequirements",
            );
        }
    }
}

fn claims(spec: &Value, resources: &Value, path: &str, faults: &mut Faults) {
    for (index, claim) in elements(resources, "claims").iter().enumerate() {
        let name = text(claim, "name");
        let mut of_pod = elements(spec, "resourceClaims").iter();
        if !of_pod.any(|claim| text(claim, "name") == name) {
            faults.add(
                format!("{path}.claims[{index}]"),
                format!("{name:?} is no claim of the Pod"),
                "validation.go validateResourceClaimNames",
            );
        }
    }
}

/// The prefix of the names of resources that are huge pages, for example `hugepages-2Mi`.
const HUGE_PAGES: &str = "hugepages-";

/// Checks the requests and limits in `spec.resources`. Each request must be at least as large as the
/// [`aggregate`] request of the containers, and each limit of huge pages as large as their aggregate
/// limit. Each limit must be at least as large as the limit of every app container. The limits of init
/// containers are not compared one by one.
fn pod_level(spec: &Value, all: &[Container<'_>], faults: &mut Faults) {
    let source = "validation.go validatePodResourceConsistency";
    let limits = quantities(&spec["resources"], "limits");
    let mut sums = aggregate(all, "limits");
    sums.retain(|name, _| name.starts_with(HUGE_PAGES));
    let requests = quantities(&spec["resources"], "requests");
    for (kind, of_pod, sums) in [
        ("requests", &requests, aggregate(all, "requests")),
        ("limits", &limits, sums),
    ] {
        for (name, sum) in sums {
            if of_pod.get(&name).is_some_and(|of_pod| sum > *of_pod) {
                faults.add(
                    format!("spec.resources.{kind}.{name}"),
                    format!("must be greater than or equal to aggregate container {kind}"),
                    source,
                );
            }
        }
    }
    for container in all.iter().filter(|one| one.list == CONTAINERS) {
        for (name, limit) in quantities(&container.fields["resources"], "limits") {
            if limits.get(&name).is_some_and(|of_pod| limit > *of_pod) {
                faults.add(
                    format!("{}.resources.limits.{name}", container.path),
                    "must be less than or equal to pod limits",
                    source,
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
    let mut starting: BTreeMap<String, i128> = BTreeMap::new();
    for container in all.iter().filter(|one| one.list == INIT_CONTAINERS) {
        for (name, amount) in quantities(&container.fields["resources"], key) {
            let beside = running.entry(name.clone()).or_default();
            let sum = *beside + amount;
            if container.is_native_sidecar() {
                *beside = sum;
            }
            let most = starting.entry(name).or_default();
            *most = sum.max(*most);
        }
    }
    for container in all.iter().filter(|one| one.list == CONTAINERS) {
        for (name, amount) in quantities(&container.fields["resources"], key) {
            *running.entry(name).or_default() += amount;
        }
    }
    for (name, most) in starting {
        let sum = running.entry(name).or_default();
        *sum = most.max(*sum);
    }
    running
}
