//! The JSON Schema of the settings, which the playground uses. `every_setting_is_listed.rs` compares its settings, values
//! and defaults with the documentation and with the form.

use consistent_pull_policy::settings::Settings;
use serde_json::Value;

fn schema() -> Value {
    serde_json::to_value(Settings::schema()).expect("JSON")
}

/// All schemas inside a schema that have properties.
fn sections<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    if schema["properties"].is_object() {
        found.push(schema);
    }
    match schema {
        Value::Object(map) => map.values().for_each(|value| sections(value, found)),
        Value::Array(list) => list.iter().for_each(|value| sections(value, found)),
        _ => {}
    }
}

#[test]
fn every_setting_has_a_description_and_unknown_keys_are_refused() {
    let schema = schema();
    let mut found = Vec::new();
    sections(&schema, &mut found);
    let mut seen = 0;
    for section in found {
        assert_eq!(section["additionalProperties"], false, "{section}");
        for (key, property) in section["properties"].as_object().expect("properties") {
            let description = property["description"].as_str().unwrap_or_default();
            assert!(description.ends_with(['.', ')']), "{key}: {description:?}");
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}
