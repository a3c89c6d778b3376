//! The JSON Schema of the Helm chart's values, for `make chart`: `chart/values.schema.json` with
//! the schema of `settings`. It is the schema of a part of the settings, because the chart lays
//! this value over the settings of a preset: no key of an object is required, and `null` takes a
//! key out.

use consistent_pull_policy::settings::{FORBIDDEN_IN_TEMPLATE, Settings};
use k8s_openapi::api::core::v1::Container;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

fn main() -> serde_json::Result<()> {
    let mut values: Value =
        serde_json::from_str(include_str!("../../../chart/values.schema.json"))?;
    let mut settings = schema::<Settings>().to_value();
    let mut template = schema::<Container>();
    // Kubernetes' descriptions would be most of the chart.
    RecursiveTransform(|schema: &mut Schema| drop(schema.remove("description")))
        .transform(&mut template);
    let mut template = template.to_value();
    for (path, _) in FORBIDDEN_IN_TEMPLATE {
        let path = format!("/properties/{}", path.replace('.', "/properties/"));
        let (fields, field) = path.rsplit_once('/').unwrap_or_default();
        let fields = template.pointer_mut(fields).and_then(Value::as_object_mut);
        let removed = fields.and_then(|fields| fields.remove(field));
        assert!(removed.is_some(), "there is no {path}");
    }
    settings["properties"]["imageChecks"]["properties"]["template"] = template;
    make_part(&mut settings, false);
    values["properties"]["settings"] = settings;
    println!("{values}");
    Ok(())
}

/// The schema of a type, without references. Versions of Helm before 3.18 read nothing newer than
/// draft 7.
fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Makes the schema of a part from the schema of a whole. A list is written as a whole, so its
/// elements keep the keys that they require.
fn make_part(schema: &mut Value, in_list: bool) {
    let Some(keys) = schema.as_object_mut() else {
        return;
    };
    for annotation in ["$schema", "title", "default", "format"] {
        keys.remove(annotation);
    }
    if let Some(Value::Array(variants)) = keys.remove("oneOf").or_else(|| keys.remove("anyOf")) {
        keys.extend(one_schema(variants));
    }
    // An empty string counts as absent.
    if let Some(Value::String(pattern)) = keys.get_mut("pattern") {
        pattern.insert_str(0, "^$|");
    }
    // YAML reads a bare `Off` as `false`.
    if let Some(words) = keys.get_mut("enum").and_then(Value::as_array_mut)
        && words.contains(&json!("Off"))
    {
        words.push(json!(false));
        keys.remove("type");
    }
    if keys.remove("x-kubernetes-int-or-string").is_some() {
        keys.insert("type".to_owned(), json!(["string", "number"]));
    }
    if !in_list {
        keys.remove("required");
    }
    let required = keys.get("required").cloned().unwrap_or_default();
    let is_required = |key: &str| {
        required
            .as_array()
            .is_some_and(|it| it.contains(&json!(key)))
    };
    if let Some(Value::Object(properties)) = keys.get_mut("properties") {
        for (key, property) in properties {
            make_part(property, in_list);
            if !is_required(key) {
                allow_null(property);
            }
        }
        keys.insert("additionalProperties".to_owned(), json!(false));
    } else if let Some(values) = keys.get_mut("additionalProperties") {
        make_part(values, in_list);
        allow_null(values);
    }
    if let Some(elements) = keys.get_mut("items") {
        make_part(elements, true);
    }
}

/// One schema for all variants: the words of an enumeration, or the type of an optional value.
/// Helm's errors list the words of `enum`, and not those of `oneOf`.
fn one_schema(variants: Vec<Value>) -> Map<String, Value> {
    let mut schema = Map::new();
    let mut words = Vec::new();
    for variant in variants
        .into_iter()
        .filter(|variant| variant["type"] != "null")
    {
        match (&variant["const"], &variant["enum"]) {
            (Value::Null, Value::Null) => {
                schema.extend(variant.as_object().cloned().unwrap_or_default());
            }
            (Value::Null, list) => words.extend(list.as_array().cloned().unwrap_or_default()),
            (word, _) => words.push(word.clone()),
        }
    }
    if !words.is_empty() {
        schema.insert("enum".to_owned(), Value::Array(words));
    }
    schema
}

fn allow_null(schema: &mut Value) {
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    if let Some(kind) = schema.get_mut("type") {
        match kind {
            Value::Array(kinds) if !kinds.contains(&json!("null")) => kinds.push(json!("null")),
            Value::String(_) => *kind = json!([kind, "null"]),
            _ => {}
        }
    }
}
