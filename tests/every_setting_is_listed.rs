//! Every setting is listed in docs/settings.md, and in Rancher's form (questions-ui.yml) if the
//! form can show the setting. The list of all settings comes from their JSON Schema. A failed test
//! prints one line for each mistake, with the setting. But if `NOT_IN_THE_FORM` has an unknown
//! setting, the test prints only that setting.

use consistent_pull_policy_promises::every_setting::{Setting, every_setting};
use consistent_pull_policy_promises::repository::{documents, text};
use serde_json::Value;

/// The file with the table of all settings and their defaults.
const TABLE: &str = "docs/settings.md";

/// Settings that the form can't show, each with the reason. Users can set them in the YAML editor
/// beside the form.
const NOT_IN_THE_FORM: [(&str, &str); 1] = [("imageChecks.template", "it is a whole container")];

/// A list whose default is left out of the form. With a default in the form, Rancher's UI would
/// write this default into the settings, but would show an empty list. Without a value in the
/// settings, this policy uses the default anyway.
const EMPTY_IN_THE_FORM: &str = "imageChecks.namePrefixes";

/// The cells of all rows of the tables in a Markdown text.
fn table_rows(markdown: &str) -> Vec<Vec<&str>> {
    markdown
        .lines()
        .filter(|line| line.contains(" | "))
        .map(|row| row.split('|').map(str::trim).collect())
        .collect()
}

/// Whether a cell of a table has this default. The table writes an empty list as `none` or `all`,
/// and leaves the cell empty if there is no default.
fn is_written_as(default: &Value, cell: &str) -> bool {
    match default {
        Value::Null => cell.is_empty(),
        Value::Array(list) if list.is_empty() => matches!(cell, "none" | "all"),
        Value::Array(list) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            cell == format!("`[{}]`", words.join(", "))
        }
        Value::String(word) => cell == format!("`{word}`"),
        other => cell == format!("`{other}`"),
    }
}

/// Fails if there are problems, with a line for each problem.
fn fail_if_any(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn the_table_has_every_setting_with_its_default() {
    let page = text(TABLE);
    let rows = table_rows(&page);
    let mut problems = Vec::new();
    for Setting { path, default, .. } in every_setting() {
        let name = format!("`{path}`");
        let mut defaults = rows
            .iter()
            .filter(|row| row[0] == name)
            .filter_map(|row| row.get(1))
            .peekable();
        if defaults.peek().is_none() {
            problems.push(format!("{path} has no row in the table of {TABLE}"));
        } else if !defaults.any(|cell| is_written_as(&default, cell)) {
            problems.push(format!(
                "{path} has another default than {default} in the table of {TABLE}"
            ));
        }
    }
    fail_if_any(&problems);
}

#[test]
fn the_form_has_a_question_for_every_setting() {
    let form = documents(&text("questions-ui.yml")).remove(0);
    let questions = form["questions"].as_array().expect("questions");
    let settings = every_setting();
    let mut problems = Vec::new();
    for Setting {
        path,
        default,
        plain_values,
    } in &settings
    {
        let question = questions.iter().find(|one| one["variable"] == **path);
        let excepted = NOT_IN_THE_FORM.iter().find(|(except, _)| except == path);
        match (question, excepted) {
            (None, None) => {
                problems.push(format!("{path} has no question in questions-ui.yml"));
            }
            (Some(_), Some((_, reason))) => {
                problems.push(format!("{path} has a question, although {reason}"));
            }
            (Some(question), None) => {
                let empty = Value::Array(Vec::new());
                let default = if path == EMPTY_IN_THE_FORM {
                    &empty
                } else {
                    default
                };
                if question["default"] != *default {
                    problems.push(format!(
                        "{path} has another default than {default} in questions-ui.yml"
                    ));
                }
                let options = question["options"].as_array().into_iter().flatten();
                let mut options: Vec<&str> = options.filter_map(Value::as_str).collect();
                let mut words: Vec<&str> = plain_values.iter().filter_map(Value::as_str).collect();
                options.sort_unstable();
                words.sort_unstable();
                if options != words {
                    problems.push(format!(
                        "{path} has other options than {words:?} in questions-ui.yml"
                    ));
                }
            }
            (None, Some(_)) => {}
        }
    }
    let is_setting = |path: &str| settings.iter().any(|setting| setting.path == path);
    // A question without an input field only shows its description, so it needs no setting.
    let with_input = |question: &&Value| question["hide_input"] != true;
    for question in questions.iter().filter(with_input) {
        let path = question["variable"].as_str().expect("a variable");
        if !is_setting(path) {
            problems.push(format!("{path} is no setting, but in questions-ui.yml"));
        }
    }
    for (path, _) in NOT_IN_THE_FORM {
        assert!(is_setting(path), "{path} is no setting");
    }
    fail_if_any(&problems);
}
