//! docs/troubleshooting.md quotes each clause of the sentences that the rows have. A clause is compared without its values: names, images, pull
//! policies and whatever else a request or the settings can change.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use consistent_pull_policy_rows::{Case, Evaluation, Host, Native, rows};
use serde_json::Value;

/// Nobody searches for fewer words.
const WORDS_MIN: usize = 3;

/// The words of a text, without punctuation.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(['"', '(', ')', ',', ';', '|', ' ', '\n']);
    let words = words.map(|word| word.trim_end_matches([':', '.']).trim_end_matches("'s"));
    words.filter(|word| !word.is_empty()).collect()
}

/// The words in the texts of an object or of settings.
fn texts<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) => found.extend(words(text)),
        Value::Array(list) => list.iter().for_each(|one| texts(one, found)),
        Value::Object(object) => object.values().for_each(|one| texts(one, found)),
        _ => {}
    }
}

fn is_value(word: &str) -> bool {
    word.contains("...")
        || word.contains(|c: char| c.is_ascii_digit() || "/@*$_\\".contains(c) || !c.is_ascii())
        || ["Always", "IfNotPresent", "Never"].contains(&word)
        || ["spec", "metadata", "object"]
            .iter()
            .any(|path| word.starts_with(path))
}

/// The parts of a case's sentences that have no value.
fn fixed_parts(case: &Case, evaluation: &Evaluation, parts: &mut BTreeSet<String>) {
    let mut values = BTreeSet::new();
    texts(&case.request["object"], &mut values);
    texts(&case.settings, &mut values);
    let answer = &evaluation.answer;
    let warnings = answer["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    for text in answer["message"].as_str().into_iter().chain(warnings) {
        // The same clause stands in several sentences.
        for clause in text
            .replace(": ", "; ")
            .replace(", ", "; ")
            .replace(" (", "; ")
            .split("; ")
        {
            let words = words(clause);
            let runs = words.split(|word| is_value(word) || values.contains(word));
            parts.extend(
                runs.filter(|run| run.len() >= WORDS_MIN)
                    .map(|run| run.join(" ")),
            );
        }
    }
}

#[test]
fn troubleshooting_quotes_each_clause() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = fs::read_to_string(page).expect("the page");
    let quotes: Vec<String> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|quote| words(quote).join(" "))
        .collect();
    let mut parts = BTreeSet::new();
    for row in rows().expect("the rows") {
        for case in row.cases().expect("the cases") {
            fixed_parts(
                &case,
                &Native.evaluate(&case).expect("an answer"),
                &mut parts,
            );
        }
    }
    assert!(parts.len() > 30, "{}", parts.len());
    parts.retain(|part| !quotes.iter().any(|quote| quote.contains(part)));
    let missing: Vec<&str> = parts.iter().map(String::as_str).collect();
    assert!(
        missing.is_empty(),
        "docs/troubleshooting.md lacks:\n{}",
        missing.join("\n")
    );
}
