//! The generator of random settings knows every setting. A setting that it never writes would not be
//! compared with the specification at all.

use std::collections::{BTreeMap, BTreeSet};

use consistent_pull_policy::settings::Settings;
use consistent_pull_policy_spec::generate::{bytes, case};
use serde_json::Value;

/// More than enough: a value of the rarest setting comes about once in a hundred cases.
const CASES: u64 = 4_000;

/// The alternatives of a schema, references included: an optional enum is the enum or null.
fn alternatives<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s Value> {
    let mut found = vec![schema];
    if let Some(reference) = schema["$ref"].as_str() {
        found.extend(alternatives(
            root.pointer(&reference[1..]).expect(reference),
            root,
        ));
    }
    for key in ["anyOf", "oneOf"] {
        for alternative in schema[key].as_array().into_iter().flatten() {
            found.extend(alternatives(alternative, root));
        }
    }
    found
}

/// For each setting the values that the generator has to write: `true` and `false`, the words of an enum,
/// and none in particular for any other type. The default is written by leaving the setting out.
fn expected_values(
    section: &Value,
    root: &Value,
    prefix: &str,
    expected: &mut BTreeMap<String, Vec<Value>>,
) {
    for (key, schema) in section.as_object().expect("properties") {
        let path = format!("{prefix}/{key}");
        let alternatives = alternatives(schema, root);
        if let Some(properties) = alternatives.iter().find_map(|one| one.get("properties")) {
            expected_values(properties, root, &path, expected);
            continue;
        }
        let mut values = Vec::new();
        for one in alternatives {
            values.extend(one["enum"].as_array().cloned().unwrap_or_default());
            values.extend(one.get("const").cloned());
            if one["type"] == "boolean" {
                values.extend([true.into(), false.into()]);
            }
        }
        values.retain(|value| !value.is_null() && *value != schema["default"]);
        expected.insert(path, values);
    }
}

#[test]
fn the_generator_writes_every_setting_with_each_of_its_plain_values() {
    let schema = serde_json::to_value(Settings::schema()).expect("JSON");
    let mut expected = BTreeMap::new();
    expected_values(&schema["properties"], &schema, "", &mut expected);
    let mut written: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for number in 0..CASES {
        let settings = case(&bytes(1, number)).settings;
        for path in expected.keys() {
            if let Some(value) = settings.pointer(path).filter(|value| !value.is_null()) {
                written.entry(path).or_default().insert(value.to_string());
            }
        }
    }
    let mut problems = Vec::new();
    for (path, values) in &expected {
        let setting = path[1..].replace('/', ".");
        let Some(written) = written.get(path.as_str()) else {
            problems.push(format!(
                "{setting} is never written by spec/src/generate/settings.rs"
            ));
            continue;
        };
        for value in values {
            if !written.contains(&value.to_string()) {
                problems.push(format!(
                    "{setting} is never {value} in spec/src/generate/settings.rs"
                ));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
