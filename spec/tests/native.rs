//! Compares this policy with the specification, and sends this policy input of any shape.
//! `cargo xtask soak` makes the same comparison with the module. These tests use the crate, compiled
//! for this machine, without a host and without WebAssembly. So the tools for code coverage and for
//! mutation testing can use these tests.

use std::sync::Arc;

use crate::common::{Native, number};
use consistent_pull_policy_spec::differential::{HostCall, Policy, check, check_number, observe};
use consistent_pull_policy_spec::generate::{Case, any_shape, bytes, case};
use consistent_pull_policy_spec::spaces::globs;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

/// If the types of `k8s_openapi` can read a Pod, these types can also read the Pod that this policy
/// returns.
#[test]
fn kubernetes_reads_the_object_that_fix_returns() {
    let reads = |object: &Value| serde_json::from_value::<Pod>(object.clone());
    for number in 0..number("CASES", 6_000) {
        let case = case(&bytes(20, number));
        let answer = observe(&Native, &case).expect("an answer").answer;
        let out = &answer["mutated_object"];
        let is_pod = case.request["kind"]["kind"] == "Pod";
        if is_pod && !out.is_null() && reads(&case.request["object"]).is_ok() {
            let problem = reads(out).err();
            assert!(problem.is_none(), "{problem:?}: {}\n{out}", case.request);
        }
    }
}

/// Objects and settings of any shape get an answer.
#[test]
fn any_shape_gets_an_answer() {
    let host: Arc<HostCall> = Arc::new(|_, _, _| Err("no registry".to_owned()));
    for number in 0..number("CASES", 6_000) {
        let case = case(&bytes(22, number));
        let settings = any_shape(&case.settings, &bytes(23, number));
        let judged = Native.validate_settings(settings.to_string().as_bytes());
        assert!(judged.is_ok(), "{judged:?}: {settings}");
        let mut request = case.request.clone();
        request["object"] = any_shape(&request["object"], &bytes(24, number));
        for settings in [&case.settings, &settings] {
            let payload = json!({"request": request, "settings": settings}).to_string();
            let answer = Native.validate(payload.as_bytes(), Arc::clone(&host));
            let answer: Value =
                serde_json::from_slice(&answer.expect("an answer")).expect("the answer is JSON");
            let is_rejection = answer["accepted"] == false && answer["code"].is_u64();
            assert!(answer["accepted"] == true || is_rejection, "{answer}");
        }
    }
}

/// Bytes of a request are changed, removed or repeated. Each resulting request gets an answer. No part
/// of an answer, except the changed object, has a secret of the Pod or a text from a registry.
#[test]
fn any_bytes_get_an_answer() {
    let host: Arc<HostCall> = Arc::new(|_, _, _| Err("s3cr3t-value".to_owned()));
    for number in 0..number("CASES", 6_000) {
        let bytes = bytes(21, number);
        let case = case(&bytes);
        let payload = serde_json::json!({"request": case.request, "settings": case.settings});
        let mut payload = payload.to_string().into_bytes();
        for change in bytes.chunks_exact(6).take(1 + usize::from(bytes[0] % 4)) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % payload.len();
            let end = (at + usize::from(change[2])).min(payload.len());
            match change[3] % 4 {
                0 => payload[at] = change[4],
                1 => payload[at] = b"[]{},:\"0\\n"[usize::from(change[4] % 10)],
                2 => drop(payload.drain(at..end)),
                _ => {
                    let twice = payload[at..end].to_vec();
                    payload.splice(at..at, twice);
                }
            }
            if payload.is_empty() {
                payload.push(b' ');
            }
        }
        let answer = Native
            .validate(&payload, Arc::clone(&host))
            .expect("an answer");
        let mut answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
        assert!(answer["accepted"].is_boolean());
        answer["mutated_object"].take();
        assert!(!answer.to_string().contains("s3cr3t-value"), "{answer}");
    }
}

/// The crate agrees with the specification about every short pattern, also about those that match the name
/// of an added check.
#[test]
fn the_crate_reads_patterns_as_specified() {
    let cases: Vec<Case> = globs(3).collect();
    assert_eq!(cases.len(), 4 + 4 * 4 + 4 * 4 * 4);
    for case in cases {
        let difference = check(&Native, &case).err();
        assert!(difference.is_none(), "{difference:?}");
    }
}

/// Environment variables control this test. `CASES` is the number of cases, also in the other tests of
/// this file, and `SEED` is the seed.
#[test]
fn the_crate_does_what_is_specified() {
    let seed = number("SEED", 7);
    for case in 0..number("CASES", 6_000) {
        if let Err(difference) = check_number(&Native, seed, case) {
            panic!("seed {seed}, case {case}: {difference}");
        }
    }
}
