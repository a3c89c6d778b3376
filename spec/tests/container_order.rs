//! The order of the containers in a Pod doesn't change the specification's findings. The specification and the
//! module could share such a mistake, so their comparison would not find it.

use consistent_pull_policy_spec::generate::{Case, bytes, case, shrink};
use consistent_pull_policy_spec::json::ROOTS;
use consistent_pull_policy_spec::{Settings, validate};
use serde_json::Value;

/// Whether all lookups are made, and the case lists no answers for digests. Then the order of the
/// containers can't change the findings, because the answer about a digest depends only on the image
/// reference.
///
/// **Decided\***: after a registry gave no answer, its other images are not looked up. The order of the
/// images decides which images are looked up before a registry gives no answer.
fn asks_for_all(case: &Case) -> bool {
    let verdict = validate(&case.request, &case.settings, &case.answers);
    case.answers.digests.is_empty()
        && (verdict.lookups.len() as u64) < Settings(&case.settings).max_lookups()
        && verdict.failed.iter().all(|lookup| lookup["asked"] == true)
}

/// Whether the request is allowed, the rule and container of findings, and the number of all findings. A
/// finding of *missing-check* names one of an image's containers. The order of the containers decides
/// which container is named. So the findings of *missing-check* are only counted.
fn told(case: &Case) -> (bool, Vec<(&'static str, String)>, usize) {
    let verdict = validate(&case.request, &case.settings, &case.answers);
    let others = verdict
        .findings
        .iter()
        .filter(|one| one.rule != "missing-check");
    let mut found: Vec<_> = others
        .map(|one| (one.rule, one.container.clone()))
        .collect();
    found.sort();
    (verdict.allowed, found, verdict.findings.len())
}

#[test]
fn the_order_of_containers_does_not_change_the_findings() {
    let changes = |case: &Case| {
        let object = &case.request["object"];
        if case.request["operation"] != "CREATE"
            || !asks_for_all(case)
            || object.to_string().contains("status")
        {
            return false;
        }
        let mut turned = case.clone();
        for root in ROOTS {
            let containers = turned.request["object"].pointer_mut(&format!("{root}/containers"));
            if let Some(Value::Array(list)) = containers {
                list.reverse();
            }
        }
        told(case) != told(&turned)
    };
    for number in 0..4_000 {
        let bytes = bytes(6, number);
        let is_changed = changes(&case(&bytes));
        assert!(
            !is_changed,
            "case {number}: {:#?}",
            case(&shrink(&bytes, changes))
        );
    }
}
