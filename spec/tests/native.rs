//! The policy's crate, compiled for this machine, against the specification: what `cargo xtask soak`
//! does with the module, without a host and without WebAssembly. It is what coverage and mutants are
//! measured with.

use std::sync::Arc;

use consistent_pull_policy::evaluate;
use consistent_pull_policy::rules::registry::Registries;
use consistent_pull_policy_spec::differential::{HostCall, Policy, check_number, write};
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
