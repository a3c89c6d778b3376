//! The quality of service of a Pod. It decides how soon a node evicts the Pod.

use std::collections::BTreeMap;

use serde_json::Value;

use super::containers;
use super::resources::quantities;

/// The classes of the quality of service. The lowest class is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QualityOfService {
    /// No request or limit of cpu or memory that counts is above zero.
    BestEffort,
    /// The Pod belongs to neither of the two other classes.
    Burstable,
    /// Each init and app container has limits of cpu and memory. The sum of all requests equals the sum
    /// of all limits, both for cpu and for memory.
    Guaranteed,
}

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// Returns the class of a Pod spec. If the spec has the field `resources`, only the values in this field
/// count, even if it has no value. Source: `pkg/apis/core/v1/helper/qos/qos.go` `ComputePodQOS`.
#[must_use]
pub fn quality_of_service(spec: &Value) -> QualityOfService {
    let of_pod = &spec["resources"];
    let all: Vec<&Value> = if of_pod.is_object() {
        vec![of_pod]
    } else {
        let all = containers(spec).into_iter();
        all.map(|one| &one.fields["resources"]).collect()
    };
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut is_guaranteed = true;
    for resources in all {
        for (name, request) in counted(resources, "requests") {
            *requests.entry(name).or_insert(0) += request;
        }
        let own = counted(resources, "limits");
        is_guaranteed &= COUNTED.iter().all(|name| own.contains_key(*name));
        for (name, limit) in own {
            *limits.entry(name).or_insert(0) += limit;
        }
    }
    if requests.is_empty() && limits.is_empty() {
        QualityOfService::BestEffort
    } else if is_guaranteed && requests == limits {
        QualityOfService::Guaranteed
    } else {
        QualityOfService::Burstable
    }
}

/// Returns the quantities that decide the class: those of cpu and memory that are above zero.
fn counted(resources: &Value, key: &str) -> BTreeMap<String, i128> {
    let mut found = quantities(resources, key);
    found.retain(|name, quantity| COUNTED.contains(&name.as_str()) && *quantity > 0);
    found
}
