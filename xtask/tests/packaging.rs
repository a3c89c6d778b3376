//! The form for Rancher's UI and the settings of the examples agree with this policy.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use consistent_pull_policy::evaluate::validate_settings;
use consistent_pull_policy::settings::Settings;
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn yaml(path: &Path) -> Vec<Value> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split("\n---")
        .map(|document| {
            yaml_serde::from_str(document)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

/// The problems of settings. `None` if they are valid.
fn problems(settings: &Value) -> Option<String> {
    let answer = validate_settings(settings.to_string().as_bytes());
    let answer = answer.expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    match answer["valid"].as_bool() {
        Some(true) => None,
        _ => Some(answer["message"].to_string()),
    }
}

/// Sets a value at a path such as `imageChecks.coverage`.
fn set(settings: &mut Value, path: &str, value: Value) {
    let field = path.split('.').fold(settings, |section, key| {
        if !section.is_object() {
            *section = json!({});
        }
        &mut section[key]
    });
    *field = value;
}

/// The settings for which a form shows a question: the first alternative of `a=b&&c=d||e=f`.
fn shown_with(show_if: Option<&str>) -> Value {
    let mut settings = json!({});
    let first = show_if.and_then(|conditions| conditions.split("||").next());
    for condition in first.into_iter().flat_map(|all| all.split("&&")) {
        let (path, value) = condition.split_once('=').expect("path=value");
        set(&mut settings, path, json!(value));
    }
    settings
}

/// The settings that a form can't show.
const SETTINGS_WITHOUT_QUESTION: [&str; 2] = ["imageChecks.template", "registry.overrides"];

#[test]
fn every_setting_has_a_question_with_its_default() {
    fn leaves(value: &Value, path: &str, all: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(section) => {
                for (key, value) in section {
                    let dot = if path.is_empty() { "" } else { "." };
                    leaves(value, &format!("{path}{dot}{key}"), all);
                }
            }
            value => {
                all.insert(path.to_owned(), value.clone());
            }
        }
    }
    let mut settings = BTreeMap::new();
    let defaults = serde_json::to_value(Settings::default()).expect("JSON");
    leaves(&defaults, "", &mut settings);
    for path in SETTINGS_WITHOUT_QUESTION {
        settings.remove(path).unwrap_or_else(|| panic!("{path}"));
    }
    let form = &yaml(&root().join("questions-ui.yml"))[0];
    let questions = form["questions"].as_array().expect("questions");
    let asked: BTreeMap<String, Value> = questions
        .iter()
        .map(|question| {
            let path = question["variable"].as_str().expect("a variable");
            (path.to_owned(), question["default"].clone())
        })
        .collect();
    assert_eq!(asked, settings);
}

#[test]
fn every_answer_to_a_question_is_a_valid_setting() {
    let form = &yaml(&root().join("questions-ui.yml"))[0];
    let questions = form["questions"].as_array().expect("questions");
    assert!(questions.len() > 20, "{}", questions.len());
    for question in questions {
        let path = question["variable"].as_str().expect("a variable");
        // The default, the value of a cleared field, and the options.
        let mut answers = vec![question["default"].clone(), json!(null)];
        answers.extend(question["options"].as_array().cloned().unwrap_or_default());
        match question["type"].as_str().expect("a type") {
            "boolean" => answers.extend([json!(true), json!(false)]),
            "int" => answers.push(json!(7)),
            "enum" => assert!(answers.len() > 3, "{path} has options"),
            kind if kind.starts_with("array[") => answers.extend([json!([]), json!({})]),
            kind => panic!("{path}: {kind}"),
        }
        let shown_with = shown_with(question["show_if"].as_str());
        for answer in answers {
            let mut settings = shown_with.clone();
            set(&mut settings, path, answer);
            assert_eq!(problems(&settings), None, "{settings}");
        }
        let mut wrong = shown_with;
        set(&mut wrong, path, json!({"nonsense": 1}));
        assert!(problems(&wrong).is_some(), "{wrong}");
    }
}

/// This policy's settings in a document. The document is a manifest, a policy group with several
/// settings, or a settings file.
fn settings_in(document: &Value) -> Vec<Value> {
    let spec = &document["spec"];
    if let Some(members) = spec["policies"].as_object() {
        return members
            .values()
            .filter(|member| {
                member["module"]
                    .to_string()
                    .contains("consistent-pull-policy")
            })
            .map(|member| member["settings"].clone())
            .collect();
    }
    match document.get("kind") {
        Some(_) => vec![spec["settings"].clone()],
        None => vec![document.clone()],
    }
}

#[test]
fn every_example_has_valid_settings() {
    let mut seen = 0;
    for folder in ["examples", "examples/settings"] {
        for file in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            for settings in yaml(&path).iter().flat_map(settings_in) {
                assert_eq!(problems(&settings), None, "{path:?}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 15, "{seen} settings");
}

#[test]
fn a_manifest_has_the_settings_of_its_settings_file() {
    let folder = root().join("examples/settings");
    for file in fs::read_dir(&folder).expect("a folder") {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name");
        let manifest = &yaml(&root().join("examples").join(name))[0];
        assert_eq!(settings_in(manifest), yaml(&path), "{path:?}");
    }
}
