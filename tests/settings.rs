//! Every setting is in the table of docs/settings.md and in the form that Rancher's UI shows,
//! questions-ui.yml.

use std::collections::BTreeSet;

use consistent_pull_policy::settings::Settings;
use consistent_pull_policy_promises::repository::{documents, text};
use serde_json::{Value, json};

use crate::common::settings_problems;

const FORM: &str = "questions-ui.yml";

/// Each setting with its default, by its path.
fn settings() -> Vec<(String, Value)> {
    let all = serde_json::to_value(Settings::default()).expect("JSON");
    let mut settings = Vec::new();
    for (section, value) in all.as_object().expect("settings") {
        match value {
            Value::Object(keys) => {
                let keys = keys.iter();
                settings
                    .extend(keys.map(|(key, value)| (format!("{section}.{key}"), value.clone())));
            }
            value => settings.push((section.clone(), value.clone())),
        }
    }
    settings
}

/// Settings with one value, a text.
fn with(path: &str, value: &str) -> Value {
    match path.split_once('.') {
        Some((section, key)) => json!({section: {key: value}}),
        None => json!({path: value}),
    }
}

#[test]
fn the_table_has_every_setting_with_its_default() {
    let page = text("docs/settings.md");
    for (path, default) in settings() {
        let words = |list: &[Value]| {
            list.iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let default = match &default {
            Value::Null => String::new(),
            Value::Array(list) if list.is_empty() => "none".to_owned(),
            Value::Array(list) => format!("`[{}]`", words(list)),
            Value::String(word) => format!("`{word}`"),
            other => format!("`{other}`"),
        };
        let row = format!("`{path}` | {default} | ");
        assert!(page.lines().any(|line| line.starts_with(&row)), "{row}");
    }
}

/// The questions with an input field. The one without only shows its description.
fn questions() -> Vec<Value> {
    let mut form = documents(&text(FORM)).remove(0);
    let mut questions = form["questions"]
        .as_array_mut()
        .map(std::mem::take)
        .expect("questions");
    questions.retain(|question| question["hide_input"] != true);
    questions
}

/// The check template is a whole container, so users write it in the YAML view beside the form. The
/// default of the name prefixes is left out: Rancher's UI would write it into the settings, but show
/// an empty list.
#[test]
fn the_form_has_a_question_for_every_setting() {
    let (questions, mut settings) = (questions(), settings());
    settings.retain(|(path, _)| path != "imageChecks.template");
    assert_eq!(questions.len(), settings.len());
    for (path, default) in settings {
        let question = questions
            .iter()
            .find(|one| one["variable"] == *path)
            .expect(&path);
        let is_prefixes = path == "imageChecks.namePrefixes";
        assert_eq!(
            question["default"],
            if is_prefixes { json!([]) } else { default },
            "{path}"
        );
        // The message has the wrong value, and then each right one.
        let wrong = settings_problems(&with(&path, "?").to_string()).unwrap_or_default();
        let words = wrong.split('`').skip(1).step_by(2);
        let right: BTreeSet<&str> = words
            .filter(|word| wrong.contains("unknown variant") && *word != "?")
            .collect();
        let options = question["options"].as_array().into_iter().flatten();
        let options: BTreeSet<&str> = options.filter_map(Value::as_str).collect();
        assert_eq!(options, right, "{path}: {wrong}");
    }
}

/// Rancher writes the default of each question, and leaves out empty values.
#[test]
fn the_untouched_form_submits_valid_settings() {
    let mut settings = json!({});
    for question in questions() {
        let default = question["default"].clone();
        if [json!(null), json!(""), json!([])].contains(&default) {
            continue;
        }
        let path = question["variable"].as_str().expect("a variable");
        let key = path.split('.');
        *key.fold(&mut settings, |section, key| &mut section[key]) = default;
    }
    assert!(settings["registry"].is_object(), "{settings}");
    assert_eq!(settings_problems(&settings.to_string()), None, "{settings}");
}

/// The reasons are at the top of questions-ui.yml.
#[test]
fn every_question_has_what_rancher_needs() {
    let mut labels = BTreeSet::new();
    for question in questions() {
        let variable = &question["variable"];
        let label = question["label"].as_str().expect("a label").to_owned();
        assert!(labels.insert(label), "{variable} has the label of another");
        assert_eq!(question["required"], false, "{variable}");
        let kind = question["type"].as_str().expect("a type");
        let show_if = question["show_if"].as_str().unwrap_or_default();
        let may_be_hidden = ["boolean", "enum"].contains(&kind) && !show_if.contains('!');
        assert!(may_be_hidden || show_if.is_empty(), "{variable}: {show_if}");
        assert!(question["description"].is_string(), "{variable}");
        assert!(question["tooltip"].is_null(), "{variable}");
    }
    // YAML 1.1 reads these words as booleans.
    for line in text(FORM).lines() {
        let value = line.trim_start_matches([' ', '-']).to_ascii_lowercase();
        let word = value.trim_start_matches("default: ");
        assert!(
            !["on", "off", "yes", "no", "y", "n"].contains(&word),
            "{line}"
        );
    }
}
