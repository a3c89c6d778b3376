//! The form of questions-ui.yml, which Rancher's UI shows.

use std::collections::BTreeSet;

use consistent_pull_policy_promises::repository::{documents, text};
use serde_json::{Value, json};

use crate::common::settings_problems;

const FORM: &str = "questions-ui.yml";

fn questions() -> Vec<Value> {
    let form = documents(&text(FORM)).remove(0);
    form["questions"].as_array().expect("questions").clone()
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
    assert!(labels.len() > 15, "{labels:?}");
}

#[test]
fn words_that_yaml_1_1_reads_as_booleans_are_quoted() {
    for line in text(FORM).lines() {
        let value = line.trim_start_matches([' ', '-']).to_ascii_lowercase();
        let value = value.trim_start_matches("default: ");
        let list = value.trim_start_matches("options: [").trim_end_matches(']');
        for word in list.split(", ") {
            let is_boolean = ["on", "off", "yes", "no", "y", "n"].contains(&word);
            assert!(!is_boolean, "{line}");
        }
    }
}
