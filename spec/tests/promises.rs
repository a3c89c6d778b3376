//! Checks that the specification keeps the promises that the design makes. If it breaks a promise,
//! it reads the rules wrongly.

use std::fmt::Write as _;

use consistent_pull_policy_spec::generate::{Case, bytes, case, shrink, stored};
use consistent_pull_policy_spec::{Settings, Verdict, validate};
use serde_json::Value;

const CASES: u64 = 4_000;

fn with(case: &Case, object: Value, changes: &[(&str, Value)]) -> Case {
    let mut next = case.clone();
    next.request["object"] = object;
    for (pointer, value) in changes {
        let mut at = &mut next.settings;
        for key in pointer.split('.') {
            at = &mut at[key];
        }
        *at = value.clone();
    }
    next
}

/// Checks a promise for random cases. A case that breaks the promise is made small and shown.
fn hold(seed: u64, promise: impl Fn(&Case) -> Result<(), String>) {
    let cases = std::env::var("CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(CASES);
    for number in 0..cases {
        let bytes = bytes(seed, number);
        if promise(&case(&bytes)).is_err() {
            let small = case(&shrink(&bytes, |case| promise(case).is_err()));
            let mut text = String::new();
            writeln!(text, "seed {seed}, case {number}").expect("a string takes all");
            writeln!(text, "settings {}", small.settings).expect("a string takes all");
            writeln!(text, "request {}", small.request).expect("a string takes all");
            writeln!(text, "answers {:?}", small.answers).expect("a string takes all");
            panic!("{}\n{text}", promise(&small).unwrap_err());
        }
    }
}

/// Whether the promises about repeated runs apply: the registries give equal answers, and the
/// images are at most `registry.maxLookups`.
///
/// **Decided\***: the answers are equal only if all images were asked for. After a registry gave no
/// answer, its other images are not asked for. The order of the images decides which images these
/// are, and a repair may change the order. In this case only the copy has to accept.
fn is_bounded(case: &Case) -> bool {
    let verdict = validate(&case.request, &case.settings, &mut case.answers.clone());
    (verdict.lookups.len() as u64) < Settings(&case.settings).max_lookups()
        && verdict.failed.iter().all(|lookup| lookup.asked)
}

fn told(verdict: &Verdict) -> String {
    let changes: Vec<String> = verdict
        .changes
        .iter()
        .map(|one| one.json().to_string())
        .collect();
    let findings: Vec<String> = verdict
        .findings
        .iter()
        .map(|one| {
            format!(
                "{} {} {} -> {} {:?}",
                one.rule, one.path, one.found, one.expected, one.weight
            )
        })
        .collect();
    format!(
        "allowed {}, changes {changes:#?}, findings {findings:#?}, lookups {:?}, failed {:?}",
        verdict.allowed, verdict.lookups, verdict.failed
    )
}

fn is_create_in_fix(case: &Case) -> bool {
    case.request["operation"] == "CREATE" && Settings(&case.settings).mode() == "Fix"
}

#[test]
fn generated_settings_are_valid() {
    hold(1, |case| match Settings(&case.settings).contradictions() {
        list if list.is_empty() => Ok(()),
        list => Err(list.join("; ")),
    });
}

#[test]
fn the_policy_run_on_its_own_output_changes_nothing_and_finds_nothing() {
    hold(2, |case| {
        let Some(object) = stored(case).filter(|_| is_create_in_fix(case) && is_bounded(case))
        else {
            return Ok(());
        };
        let before = validate(&case.request, &case.settings, &mut case.answers.clone());
        let again = with(case, object, &[]);
        let verdict = validate(&again.request, &again.settings, &mut again.answers.clone());
        match (verdict.allowed, verdict.object.is_some()) {
            (true, false) => Ok(()),
            _ => Err(format!("first {}\nagain {}", told(&before), told(&verdict))),
        }
    });
}

#[test]
fn reject_accepts_the_object_that_fix_returned() {
    hold(3, |case| {
        let Some(object) = stored(case).filter(|_| is_create_in_fix(case) && is_bounded(case))
        else {
            return Ok(());
        };
        if object["status"].is_object() {
            return Ok(());
        }
        let reject = with(case, object, &[("mode", "Reject".into())]);
        let verdict = validate(
            &reject.request,
            &reject.settings,
            &mut reject.answers.clone(),
        );
        if verdict.allowed {
            Ok(())
        } else {
            Err(told(&verdict))
        }
    });
}

#[test]
fn the_copy_accepts_the_object_that_fix_returned() {
    hold(4, |case| {
        let Some(object) = stored(case).filter(|_| is_create_in_fix(case)) else {
            return Ok(());
        };
        if object["status"].is_object() {
            return Ok(());
        }
        let changes = [("mode", "Reject".into()), ("registry.maxLookups", 0.into())];
        let copy = with(case, object, &changes);
        let verdict = validate(&copy.request, &copy.settings, &mut copy.answers.clone());
        if verdict.allowed {
            Ok(())
        } else {
            Err(told(&verdict))
        }
    });
}

#[test]
fn create_then_reapply_comes_out_as_stored() {
    hold(5, |case| {
        let kind = &case.request["kind"]["kind"];
        if !is_create_in_fix(case)
            || kind != "Pod" && kind != "Job"
            || !Settings(&case.settings).record_changes()
            || !case.request["object"]["metadata"]["deletionTimestamp"].is_null()
        {
            return Ok(());
        }
        let Some(object) = stored(case) else {
            return Ok(());
        };
        let first = validate(&case.request, &case.settings, &mut case.answers.clone());
        // The manifest doesn't have the fields that this policy added or replaced, so kubectl keeps
        // them.
        if first
            .changes
            .iter()
            .any(|change| change.from.is_null() || change.to.is_null())
        {
            return Ok(());
        }
        let mut again = case.clone();
        again.request["operation"] = "UPDATE".into();
        again.request["oldObject"] = object.clone();
        let verdict = validate(&again.request, &again.settings, &mut again.answers.clone());
        let out = verdict
            .object
            .clone()
            .unwrap_or_else(|| again.request["object"].clone());
        if verdict.allowed && out["spec"] == object["spec"] {
            Ok(())
        } else {
            Err(told(&verdict))
        }
    });
}

#[test]
fn the_order_of_containers_does_not_change_the_findings() {
    hold(6, |case| {
        // An image without an answer of its own gets an answer that depends only on its name. So
        // the order of lookups matters only for the limit, and for a registry that doesn't answer.
        if case.request["operation"] != "CREATE"
            || !case.answers.digests.is_empty()
            || !is_bounded(case)
        {
            return Ok(());
        }
        let mut turned = case.clone();
        for root in [
            "/spec",
            "/spec/template/spec",
            "/spec/jobTemplate/spec/template/spec",
            "/template/spec",
        ] {
            let containers = turned.request["object"].pointer_mut(&format!("{root}/containers"));
            if let Some(Value::Array(list)) = containers {
                list.reverse();
            }
        }
        let told = |case: &Case| {
            let verdict = validate(&case.request, &case.settings, &mut case.answers.clone());
            let mut found: Vec<_> = verdict
                .findings
                .iter()
                .filter(|one| one.rule != "missing-check")
                .map(|one| (one.rule, one.container.clone()))
                .collect();
            found.sort();
            (verdict.allowed, found, verdict.findings.len())
        };
        let (a, b) = (told(case), told(&turned));
        if a == b || case.request["object"].to_string().contains("status") {
            Ok(())
        } else {
            Err(format!("{a:?}\n{b:?}"))
        }
    });
}
