//! The policy's crate, compiled for this machine, against the specification: what `cargo xtask soak`
//! does with the module, without a host and without WebAssembly. It is what coverage and mutants are
//! measured with.

use std::sync::Arc;

use consistent_pull_policy::evaluate;
use consistent_pull_policy::lookup::Registries;
use consistent_pull_policy_spec::differential::{HostCall, Policy, check_number, observe, write};
use consistent_pull_policy_spec::generate::{Case, bytes, case};
use consistent_pull_policy_spec::{Settings, validate};
use k8s_openapi::api::core::v1::Pod;
use oci_spec::image::{ImageIndex, Platform};
use serde_json::Value;

struct Native;

struct Host(Arc<HostCall>);

impl Host {
    fn ask(&self, operation: &str, image: &str) -> Result<Vec<u8>, String> {
        (self.0)("oci", operation, Value::from(image).to_string().as_bytes())
    }
}

impl Registries for Host {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        let answer = self.ask("v1/manifest_digest", image)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        Ok(answer["digest"].as_str().unwrap_or_default().to_owned())
    }

    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String> {
        let answer = self.ask("v1/oci_manifest", image)?;
        let index: Option<ImageIndex> = serde_json::from_slice(&answer).ok();
        Ok(index.map(|index| {
            let manifests = index.manifests().iter();
            manifests.filter_map(|one| one.platform().clone()).collect()
        }))
    }
}

impl Policy for Native {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        evaluate::validate(payload, &mut Host(host)).map_err(|error| error.to_string())
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        evaluate::validate_settings(settings).map_err(|error| error.to_string())
    }
}

/// The case as the mode and the settings of a second look have it.
fn next(case: &Case, object: &Value, settings: &[(&str, Value)]) -> Case {
    let mut next = case.clone();
    next.request["object"] = object.clone();
    for (pointer, value) in settings {
        let mut at = &mut next.settings;
        for key in pointer.split('.') {
            at = &mut at[key];
        }
        *at = value.clone();
    }
    next
}

fn answer(case: &Case) -> Value {
    observe(&Native, case).expect("an answer").answer
}

fn told(case: &Case, answer: &Value) -> String {
    format!("settings {}\n{}\n{answer}", case.settings, case.request)
}

#[test]
fn what_fix_returns_stays_and_is_valid_and_the_copy_accepts_it() {
    for number in 0..number("CASES", 6_000) {
        let case = case(&bytes(20, number));
        let first = observe(&Native, &case).expect("an answer");
        let out = &first.answer["mutated_object"];
        if out.is_null() {
            continue;
        }
        // What Kubernetes' own types took before, they take now.
        let is_pod = case.request["kind"]["kind"] == "Pod";
        let reads = |object: &Value| serde_json::from_value::<Pod>(object.clone());
        if is_pod && reads(&case.request["object"]).is_ok() {
            let problem = reads(out).err();
            assert!(problem.is_none(), "{problem:?}: {}", told(&case, out));
        }
        if case.request["operation"] != "CREATE" {
            continue;
        }
        let verdict = validate(&case.request, &case.settings, &mut case.answers.clone());
        let max_lookups = Settings(&case.settings).max_lookups();
        // "for equal answers of the registries and at most `registry.maxLookups` distinct images"
        let were_all_asked = verdict.failed.iter().all(|lookup| lookup.asked)
            && (verdict.lookups.len() as u64) < max_lookups;
        let again = next(&case, out, &[]);
        if were_all_asked {
            let answer = answer(&again);
            assert_eq!(answer["accepted"], true, "{}", told(&again, &answer));
            assert!(
                answer["mutated_object"].is_null(),
                "{}",
                told(&again, &answer)
            );
            let reject = next(&case, out, &[("mode", "Reject".into())]);
            let answer = self::answer(&reject);
            let has_status = out["status"].is_object();
            assert!(
                has_status || answer["accepted"] == true,
                "{}",
                told(&reject, &answer)
            );
        }
        if out["status"].is_null() {
            let settings = [("mode", "Reject".into()), ("registry.maxLookups", 0.into())];
            let copy = next(&case, out, &settings);
            let answer = answer(&copy);
            assert_eq!(answer["accepted"], true, "{}", told(&copy, &answer));
        }
    }
}

/// Bytes of a request are changed, left out and put twice; there is an answer to each, and none has
/// a secret of the Pod or a word of a registry in it.
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

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `CASES`, `SEED` and `DIFFERENCES` say how many cases, of which seed, and after how many differences
/// it gives up.
#[test]
fn the_crate_does_what_is_specified() {
    let (seed, most) = (number("SEED", 7), number("DIFFERENCES", 1));
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("differences");
    let mut found = 0;
    for case in 0..number("CASES", 6_000) {
        let Err(difference) = check_number(&Native, seed, case) else {
            continue;
        };
        let review = write(&difference, &directory.join(found.to_string())).expect("a directory");
        eprintln!(
            "seed {seed}, case {case}: {}\n{}\nsettings {}\n{}\n",
            review.display(),
            difference.lines.join("\n"),
            difference.case.settings,
            difference.case.request["object"],
        );
        found += 1;
        assert!(found < most, "specification and policy differ");
    }
    assert_eq!(found, 0, "specification and policy differ");
}
