//! Tests of the JSON Schema of the settings, which editors use.

use consistent_pull_policy::settings::Settings;
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::to_value(Settings::schema()).expect("JSON")
}

/// A property of the schema. If the property refers to a definition, the two are merged.
fn property(path: &str) -> Value {
    let schema = schema();
    let resolved = |value: &Value| -> Value {
        let reference = value["$ref"].as_str().or_else(|| {
            value["anyOf"]
                .as_array()?
                .iter()
                .find_map(|one| one["$ref"].as_str())
        });
        let Some(reference) = reference else {
            return value.clone();
        };
        let mut target = schema.pointer(&reference[1..]).expect(reference).clone();
        for (key, value) in value.as_object().expect("an object") {
            target[key] = value.clone();
        }
        target
    };
    path.split('.').fold(schema.clone(), |section, key| {
        let value = &section["properties"][key];
        assert!(value.is_object(), "{path}");
        resolved(value)
    })
}

#[test]
fn every_setting_has_a_description() {
    fn check(value: &Value, path: &str, seen: &mut usize) {
        match value {
            Value::Object(map) => {
                for (key, property) in map
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                {
                    let description = property["description"].as_str().unwrap_or_default();
                    assert!(
                        description.ends_with(['.', ')']),
                        "{path}.{key}: {description:?}"
                    );
                    *seen += 1;
                }
                for (key, value) in map {
                    check(value, &format!("{path}.{key}"), seen);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| check(value, path, seen)),
            _ => {}
        }
    }
    let mut seen = 0;
    check(&schema(), "", &mut seen);
    assert!(seen >= 40, "{seen}");
}

#[test]
fn the_schema_has_the_values_the_defaults_and_the_limits_of_settings() {
    assert_eq!(schema()["additionalProperties"], json!(false));
    let words = |path: &str| -> Vec<Value> {
        property(path)["oneOf"]
            .as_array()
            .unwrap_or_else(|| panic!("{path}: {}", property(path)))
            .iter()
            .map(|one| {
                assert!(one["description"].is_string(), "{path}: {one}");
                one["const"].clone()
            })
            .collect()
    };
    assert_eq!(words("mode"), ["Fix", "Reject", "Warn"]);
    assert_eq!(words("imageChecks.as"), ["InitContainer", "ImageVolume"]);
    assert_eq!(words("templates"), ["Off", "Warn", "Enforce"]);
    let lookups = property("registry.maxLookups");
    assert_eq!(lookups["minimum"], json!(0));
    assert_eq!(lookups["maximum"], json!(100));
    assert_eq!(lookups["default"], json!(10));
    assert_eq!(property("mode")["default"], json!("Fix"));
    assert_eq!(property("recordChanges")["default"], json!(true));
    let prefixes = property("imageChecks.namePrefixes");
    assert_eq!(
        prefixes["default"],
        json!(["imagecheck-", "imagepullcheck-"])
    );
    let overrides = &property("registry.overrides")["items"]["$ref"];
    let of_overrides = schema();
    let of_overrides = of_overrides
        .pointer(&overrides.as_str().expect("a reference")[1..])
        .expect("a definition");
    assert_eq!(of_overrides["required"], json!(["images"]));
    assert_eq!(of_overrides["properties"]["images"]["minItems"], json!(1));
}

#[test]
fn the_defaults_in_the_schema_are_the_defaults_of_the_settings() {
    let settings = serde_json::to_value(Settings::default()).expect("JSON");
    for (key, property) in schema()["properties"].as_object().expect("properties") {
        assert_eq!(property["default"], settings[key], "{key}");
    }
}
