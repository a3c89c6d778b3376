//! Tests that the generator of random settings writes every setting. If the generator never wrote a
//! setting, no promise would be tried under it.

use std::collections::{BTreeMap, BTreeSet};

use consistent_pull_policy_promises::every_setting::every_setting;
use consistent_pull_policy_promises::generate::{bytes, case};

/// The rarest value of a setting is generated about once in 24 cases, so this number of cases is
/// enough.
const CASES: u64 = 2_000;

/// Every setting is written at least once. Each value of a boolean or an enum other than the
/// default is written. The default need not be written, because it applies if the generator leaves
/// the setting out.
#[test]
fn the_generator_writes_every_setting_with_each_of_its_plain_values() {
    let settings = every_setting();
    let mut written: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for number in 0..CASES {
        let random = case(&bytes(1, number)).settings;
        for setting in &settings {
            let pointer = format!("/{}", setting.path.replace('.', "/"));
            if let Some(value) = random.pointer(&pointer).filter(|value| !value.is_null()) {
                let values = written.entry(&setting.path).or_default();
                values.insert(value.to_string());
            }
        }
    }
    let mut problems = Vec::new();
    for setting in &settings {
        let path = setting.path.as_str();
        let Some(written) = written.get(path) else {
            problems.push(format!("{path} is never written"));
            continue;
        };
        for value in &setting.plain_values {
            if *value != setting.default && !written.contains(&value.to_string()) {
                problems.push(format!("{path} is never {value}"));
            }
        }
    }
    let file = "tests/promises/src/generate/settings.rs";
    assert!(problems.is_empty(), "{file}:\n{}\n", problems.join("\n"));
}
