//! The form of questions-ui.yml, filled in as Rancher's UI does it.
//!
//! Rancher's rules that matter here:
//!
//! - A question is shown if its `show_if` holds. `||` separates alternatives, and `&&` the parts of
//!   an alternative. Each part is `path=value`.
//! - A question that is shown for the first time writes its default.
//! - A question that becomes hidden keeps its value, and nobody sees this value any more.
//! - When the form is submitted, `null`, `""`, `[]` and empty objects are removed from objects. The
//!   elements of lists are kept, even `""`. The button Add of a list adds an element `""`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use consistent_pull_policy::evaluate::validate_settings;
use serde_json::{Map, Value, json};

/// The largest number of settings that differ from their defaults at the same time. The known
/// conflicts between settings need at most two such settings.
const MAX_CHANGED: usize = 2;

/// The answers of a form: the variable and the value of each question.
type Answers = BTreeMap<String, Value>;

struct Question {
    variable: String,
    show_if: Option<String>,
    default: Option<Value>,
    /// The values that the tests choose as answers.
    answers: Vec<Value>,
    yaml: Value,
}

fn questions() -> Vec<Question> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("questions-ui.yml");
    let form: Value = yaml_serde::from_str(&fs::read_to_string(path).expect("the form"))
        .expect("the form is YAML");
    let questions = form["questions"].as_array().expect("questions");
    let read = |yaml: &Value| Question {
        variable: yaml["variable"].as_str().expect("a variable").to_owned(),
        show_if: yaml["show_if"].as_str().map(str::to_owned),
        default: yaml.get("default").cloned(),
        answers: answers(yaml),
        yaml: yaml.clone(),
    };
    questions.iter().map(read).collect()
}

fn answers(question: &Value) -> Vec<Value> {
    match question["type"].as_str().expect("a type") {
        "boolean" => vec![json!(true), json!(false)],
        "enum" => question["options"].as_array().expect("options").clone(),
        // Rancher accepts a number beyond `max` and a negative number, so the tests try both.
        "int" => [0, 10, 100, 101, -1].map(Value::from).into(),
        "array[string]" => vec![json!([]), json!([""]), json!(["/"])],
        "sequence[" => vec![
            json!([]),
            json!([{"images": []}]),
            json!([{"images": ["nginx"], "lookup": "Verify"}]),
        ],
        "string" => Vec::new(),
        other => panic!("{}: the type {other}", question["variable"]),
    }
}

/// Whether Rancher shows a question.
fn is_shown(question: &Question, answers: &Answers) -> bool {
    let holds = |condition: &str| {
        let (path, expected) = condition.split_once('=').expect("path=value");
        let written = match answers.get(path) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => return false,
        };
        written == expected
    };
    question
        .show_if
        .as_deref()
        .is_none_or(|show_if| show_if.split("||").any(|all| all.split("&&").all(holds)))
}

/// Writes the defaults of the questions that are shown and have no value yet.
fn write_defaults(questions: &[Question], answers: &mut Answers) {
    loop {
        let missing = questions.iter().find(|question| {
            question.default.is_some()
                && !answers.contains_key(&question.variable)
                && is_shown(question, answers)
        });
        let Some(Question {
            variable, default, ..
        }) = missing
        else {
            return;
        };
        let default = default.clone().expect("a default");
        answers.insert(variable.clone(), default);
    }
}

/// The settings that the form submits: `a.b: 1` becomes `{a: {b: 1}}`, without empty values.
fn submitted(answers: &Answers) -> Value {
    let mut settings = Map::new();
    for (path, value) in answers {
        if *value == json!(null) || *value == json!("") || *value == json!([]) {
            continue;
        }
        match path.split_once('.') {
            None => settings.insert(path.clone(), value.clone()),
            Some((section, key)) => settings
                .entry(section)
                .or_insert_with(|| json!({}))
                .as_object_mut()
                .expect("a section")
                .insert(key.to_owned(), value.clone()),
        };
    }
    settings.into()
}

/// The message that refuses settings. `None` if they are valid.
fn refusal(settings: &Value) -> Option<String> {
    let answer = validate_settings(settings.to_string().as_bytes()).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    (answer["valid"] != true).then(|| answer["message"].to_string())
}

/// All states of the form that a user can reach with the tests' answers, while at most
/// [`MAX_CHANGED`] settings differ from their defaults. Only questions that can become hidden, or that
/// can hide another question, are answered.
fn reachable_states(questions: &[Question]) -> BTreeSet<String> {
    let key = |answers: &Answers| serde_json::to_string(answers).expect("JSON");
    let is_changed = |question: &Question, answers: &Answers| {
        let value = answers.get(&question.variable);
        value.is_some() && value != question.default.as_ref()
    };
    let is_named = |variable: &str| {
        let mut conditions = questions.iter().filter_map(|one| one.show_if.as_ref());
        conditions.any(|show_if| show_if.contains(&format!("{variable}=")))
    };
    let answered: Vec<&Question> = questions
        .iter()
        .filter(|question| question.show_if.is_some() || is_named(&question.variable))
        .collect();
    let mut untouched = Answers::new();
    write_defaults(questions, &mut untouched);
    let mut seen = BTreeSet::from([key(&untouched)]);
    let mut waiting = vec![untouched];
    while let Some(answers) = waiting.pop() {
        for question in answered.iter().filter(|one| is_shown(one, &answers)) {
            let others = questions
                .iter()
                .filter(|other| other.variable != question.variable && is_changed(other, &answers));
            let is_full = others.count() == MAX_CHANGED;
            for answer in &question.answers {
                if is_full && Some(answer) != question.default.as_ref() {
                    continue;
                }
                let mut next = answers.clone();
                next.insert(question.variable.clone(), answer.clone());
                write_defaults(questions, &mut next);
                if seen.insert(key(&next)) {
                    waiting.push(next);
                }
            }
        }
    }
    seen
}

#[test]
fn the_untouched_form_submits_valid_settings() {
    let questions = questions();
    let mut answers = Answers::new();
    write_defaults(&questions, &mut answers);
    assert!(answers.len() > 20, "{answers:?}");
    assert_eq!(refusal(&submitted(&answers)), None);
}

#[test]
fn no_hidden_value_is_the_reason_why_settings_are_refused() {
    let questions = questions();
    let mut with_hidden_values = 0;
    for state in reachable_states(&questions) {
        let answers: Answers = serde_json::from_str(&state).expect("answers");
        let is_visible = |path: &String| {
            questions
                .iter()
                .any(|question| question.variable == *path && is_shown(question, &answers))
        };
        let visible: Answers = answers
            .iter()
            .filter(|(path, _)| is_visible(path))
            .map(|(path, value)| (path.clone(), value.clone()))
            .collect();
        if visible.len() == answers.len() {
            continue;
        }
        with_hidden_values += 1;
        let settings = submitted(&answers);
        // The hidden values make no difference: both settings are valid, or the same message
        // refuses both.
        assert_eq!(
            refusal(&settings),
            refusal(&submitted(&visible)),
            "{settings}"
        );
    }
    assert!(with_hidden_values > 100, "{with_hidden_values} states");
    assert!(refusal(&json!({"registry": {"maxLookups": 101}})).is_some());
}

#[test]
fn every_option_of_an_override_is_valid() {
    let questions = questions();
    let overrides = questions
        .iter()
        .find(|question| question.variable == "registry.overrides")
        .expect("the question");
    let parts = overrides.yaml["sequence_questions"].as_array();
    let parts = parts.expect("questions");
    let mut entry = json!({"images": ["nginx"]});
    for part in parts {
        let variable = part["variable"].as_str().expect("a variable");
        assert!(part["type"].is_string(), "{variable} has no type");
        for option in part["options"].as_array().into_iter().flatten() {
            entry[variable] = option.clone();
            let settings = json!({"registry": {"images": ["*"], "overrides": [entry]}});
            assert_eq!(refusal(&settings), None, "{settings}");
        }
    }
    assert_eq!(entry.as_object().map(Map::len), Some(parts.len()));
}

#[test]
fn the_images_to_look_up_are_shown_wherever_a_lookup_needs_them() {
    let questions = questions();
    let images = questions
        .iter()
        .find(|question| question.variable == "registry.images")
        .expect("the question");
    let reason = images.yaml["description"].as_str().expect("a reason");
    assert!(reason.contains("Whoever creates a Pod chooses the hosts"));
    let override_with_a_lookup = json!([{"images": ["nginx"], "lookup": "Verify"}]);
    for (variable, answer) in [
        ("registry.lookup", json!("Verify")),
        ("registry.lookup", json!("Pin")),
        ("registry.overrides", override_with_a_lookup),
    ] {
        let mut answers = Answers::from([(variable.to_owned(), answer.clone())]);
        write_defaults(&questions, &mut answers);
        assert!(is_shown(images, &answers), "{variable}: {answer}");
        let message = refusal(&submitted(&answers)).unwrap_or_default();
        assert!(message.contains("registry.images"), "{answer}: {message}");
        answers.insert(images.variable.clone(), json!(["*"]));
        assert_eq!(refusal(&submitted(&answers)), None, "{variable}: {answer}");
    }
}

#[test]
fn every_question_has_what_rancher_shows() {
    let questions = questions();
    let mut labels = BTreeSet::new();
    for Question {
        variable,
        show_if,
        default,
        yaml,
        ..
    } in &questions
    {
        let label = yaml["label"].as_str().expect(variable);
        assert!(labels.insert(label), "two questions are labelled '{label}'");
        // A required question with a dot in its variable blocks the button Finish.
        assert_eq!(yaml["required"], false, "{variable}");
        // Rancher doesn't know `!=`: a question whose `show_if` has `!=` would always be shown.
        let show_if = show_if.as_deref().unwrap_or_default();
        assert!(!show_if.contains('!'), "{variable}: {show_if}");
        let kind = yaml["type"].as_str().expect(variable);
        if kind == "sequence[" {
            // Without a list as the default, the button Add does nothing.
            assert_eq!(default, &Some(json!([])), "{variable}");
        } else {
            assert!(yaml["description"].is_string(), "{variable} has no help");
            assert!(
                yaml.get("tooltip").is_none(),
                "{variable}: a tooltip is not shown"
            );
        }
        // Only a boolean or an enum may be hidden. Any other question can have a wrong value, which the
        // user has to see. No `show_if` can list all wrong values, so such a question is always shown.
        let is_free = kind == "boolean" || kind == "enum";
        assert!(is_free || show_if.is_empty(), "{variable}: {show_if}");
    }
    // The form asks for the settings in the section `registry`, for example for `registry.lookup`.
    assert!(
        questions
            .iter()
            .any(|question| question.variable == "registry.lookup")
    );
}

#[test]
fn words_that_yaml_1_1_reads_as_booleans_are_quoted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("questions-ui.yml");
    let text = fs::read_to_string(path).expect("the form");
    let separators = |c: char| c.is_whitespace() || "[],".contains(c);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.trim_start().trim_start_matches("- ");
        let value = match value.split_once(": ") {
            Some(("options" | "default", value)) => value,
            Some(_) => continue,
            None => value,
        };
        // A line with several words is part of a longer text, and not a value.
        if value.contains(' ') && !value.starts_with('[') {
            continue;
        }
        for word in value.split(separators) {
            let word = word.to_ascii_lowercase();
            assert!(
                !["on", "off", "yes", "no", "y", "n"].contains(&&*word),
                "{line}"
            );
        }
    }
}
