//! All settings of this policy, from their JSON Schema.

use consistent_pull_policy::settings::Settings;
use serde_json::Value;

/// A setting that has a value of its own. A section such as `imageChecks` only groups other
/// settings, so it is not listed.
pub struct Setting {
    /// The path, for example `imageChecks.onMissing`.
    pub path: String,
    /// The value if nothing is set.
    pub default: Value,
    /// The values of a boolean or an enum. Empty for any other type.
    pub plain_values: Vec<Value>,
}

/// All settings, in the order of the schema.
///
/// # Panics
/// If the schema has another form.
pub fn every_setting() -> Vec<Setting> {
    let schema = serde_json::to_value(Settings::schema()).expect("JSON");
    let mut settings = Vec::new();
    add_settings(&schema["properties"], &schema, "", &mut settings);
    assert!(settings.len() > 15, "{} settings", settings.len());
    settings
}

fn add_settings(section: &Value, root: &Value, prefix: &str, settings: &mut Vec<Setting>) {
    for (key, schema) in section.as_object().expect("properties") {
        let path = format!("{prefix}{key}");
        let alternatives = alternatives(schema, root);
        if let Some(properties) = alternatives.iter().find_map(|one| one.get("properties")) {
            add_settings(properties, root, &format!("{path}."), settings);
            continue;
        }
        let mut plain_values = Vec::new();
        for one in alternatives {
            plain_values.extend(one["enum"].as_array().cloned().unwrap_or_default());
            plain_values.extend(one.get("const").cloned());
            if one["type"] == "boolean" {
                plain_values.extend([true.into(), false.into()]);
            }
        }
        plain_values.retain(|value| !value.is_null());
        settings.push(Setting {
            path,
            default: schema["default"].clone(),
            plain_values,
        });
    }
}

/// A schema, the target of its `$ref`, and all its alternatives (`anyOf` and `oneOf`). For example,
/// the alternatives of an optional enum are the enum and null.
fn alternatives<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s Value> {
    let mut found = vec![schema];
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(&reference[1..]).expect(reference);
        found.extend(alternatives(target, root));
    }
    for key in ["anyOf", "oneOf"] {
        for alternative in schema[key].as_array().into_iter().flatten() {
            found.extend(alternatives(alternative, root));
        }
    }
    found
}
