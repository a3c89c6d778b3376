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

/// Checks the requests and limits in `spec.resources`. Each request must be at least as large as the
/// request that [`aggregate_requests`] returns for the same resource. Each limit must be at least as
/// large as every container's limit for the same resource.
fn pod_level(spec: &Value, all: &[Container<'_>], faults: &mut Faults) {
    let source = "validation.go validatePodResourceConsistency";
    let requests = quantities(&spec["resources"], "requests");
    let limits = quantities(&spec["resources"], "limits");
    for (name, needed) in aggregate_requests(all) {
        if requests.get(&name).is_some_and(|request| needed > *request) {
            faults.add(
                format!("spec.resources.requests.{name}"),
                "must be greater than or equal to aggregate container requests",
                source,
            );
        }
    }
    for container in all {
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
/// they request most. There are two sums of requests, and the larger sum counts. The first is the sum of
/// app containers and native sidecars. The second is the largest sum of an init container and the native
/// sidecars before this init container. Source:
/// `staging/src/k8s.io/component-helpers/resource/helpers.go` `AggregateContainerRequests`.
fn aggregate_requests(all: &[Container<'_>]) -> BTreeMap<String, i128> {
    let mut running: BTreeMap<String, i128> = BTreeMap::new();
    let mut starting: BTreeMap<String, i128> = BTreeMap::new();
    for container in all.iter().filter(|one| one.list == INIT_CONTAINERS) {
        for (name, request) in quantities(&container.fields["resources"], "requests") {
            let beside = running.entry(name.clone()).or_default();
            let sum = *beside + request;
            if container.is_native_sidecar() {
                *beside = sum;
            }
            let most = starting.entry(name).or_default();
            *most = sum.max(*most);
        }
    }
    for container in all.iter().filter(|one| one.list == CONTAINERS) {
        for (name, request) in quantities(&container.fields["resources"], "requests") {
            *running.entry(name).or_default() += request;
        }
    }
    for (name, most) in starting {
        let sum = running.entry(name).or_default();
        *sum = most.max(*sum);
    }
    running
}
