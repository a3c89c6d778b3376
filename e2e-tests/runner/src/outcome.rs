//! Compares what came out with what a row expects. Both are kept as a row writes them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::case::{Case, places};
use crate::host::Evaluation;
use crate::notation::{get, lengthened, lines, repeated, set, text, tidy};
use crate::row::{Row, is_rule, is_short};

/// The audit annotations, and the record of changes.
const LISTS: [&str; 4] = ["findings", "changes", "record", "lookups"];
/// The Pod's annotation with what was found and not repaired.
const WARNINGS: &str = "metadata.annotations.consistent-pull-policy/warnings";

impl Row {
    /// Returns what is not as the row expects: what was expected and what came, both as a row
    /// writes them.
    #[must_use]
    pub fn difference(&self, case: &Case, evaluation: &Evaluation) -> Option<String> {
        let actual = self.actual(case, evaluation);
        let mut expected = self.expected(case, evaluation);
        expected.retain(|key, value| !is_as_expected(key, value, &actual[key], evaluation));
        if expected.is_empty() {
            return None;
        }
        let report = json!({
            "with": case.values,
            "sent": places(&case.request, &case.request["object"]),
            "settings": case.settings.to_string(),
            "expected": expected,
            "came": actual,
        });
        let report = yaml_serde::to_string(&report).unwrap_or_default();
        Some(format!("{}\n{report}", self.place))
    }

    /// Everything that came out.
    fn actual(&self, case: &Case, evaluation: &Evaluation) -> Value {
        if let Some(problems) = &evaluation.invalid {
            return json!({"invalid": sentences(problems)});
        }
        let answer = &evaluation.answer;
        let after = &answer["mutated_object"];
        let object = [after, &case.request["object"]];
        let object = object.iter().find(|object| !object.is_null());
        let mut actual = json!({"after": Value::Null, "warned": answer["warnings"]});
        if answer["accepted"] == false {
            actual = json!({
                "rejected": sentences(text(&answer["message"])),
                "code": answer["code"],
                "warned": answer["warnings"],
            });
        } else if !after.is_null() {
            let mut unchanged = case.request["object"].clone();
            if let Some(warnings) = get(after, WARNINGS) {
                actual["annotated"] = serde_json::from_str(text(warnings)).unwrap_or_default();
                let _ = set(&mut unchanged, WARNINGS, Some(warnings));
            }
            if unchanged != *after {
                actual["after"] = places(&case.request, after).into();
            }
        }
        for path in self.given["has"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
        {
            let value = object.and_then(|object| get(object, path));
            actual["has"][path] = value.cloned().unwrap_or_default();
        }
        for key in LISTS {
            let entries = evaluation.list(key);
            if !entries.is_empty() {
                let is_whole = entries_of(&self.given[key]).iter().any(Value::is_object);
                let entries = entries.iter();
                actual[key] = entries
                    .map(|one| if is_whole { one.clone() } else { short(one) })
                    .collect();
            }
        }
        actual["asked"] = json!(evaluation.calls);
        actual
    }

    /// What the row expects. A key that it doesn't have is left out, or has the usual value.
    fn expected(&self, case: &Case, evaluation: &Evaluation) -> Map<String, Value> {
        let mut expected = Map::new();
        let given = |key: &str| self.given.get(key);
        if given("invalid").is_some() || evaluation.invalid.is_some() {
            expected.insert("invalid".to_owned(), lines(&self.given["invalid"]).into());
            return expected;
        }
        let mut expect = |key: &str, value: Value| {
            expected.insert(key.to_owned(), value);
        };
        let is_repaired = ["after", "has", "changes", "record"]
            .iter()
            .any(|key| given(key).is_some());
        expect("rejected", Value::Null);
        if let Some(rejected) = given("rejected") {
            let is_update = case.request["operation"] == "UPDATE";
            expect("rejected", lines(rejected).into());
            let usual = if is_update { 400 } else { 422 };
            expect("code", given("code").cloned().unwrap_or(usual.into()));
        } else if let Some(after) = given("after") {
            expect("after", tidy(text(after)).into());
        } else if !is_repaired {
            expect("after", Value::Null);
        }
        if let Some(has) = given("has") {
            expect("has", lengthened(has));
        }
        if given("warned").is_some() || !is_repaired {
            expect("warned", lines(&self.given["warned"]).into());
        }
        if !is_repaired && given("rejected").is_none() && given("warned").is_none() {
            expect("findings", json!([]));
        }
        if let Some(annotated) = given("annotated") {
            expect("annotated", lines(annotated).into());
        }
        for key in LISTS {
            if let Some(entries) = given(key) {
                expect(key, entries_of(entries).into());
            }
        }
        let calls: BTreeSet<&str> = evaluation.calls.iter().map(String::as_str).collect();
        if let Some(asked) = given("asked") {
            expect("asked", asked.clone());
        } else if !calls.into_iter().eq(case.registries.images()) {
            expect("asked", case.registries.images().collect());
        }
        expected
    }
}

fn is_as_expected(key: &str, expected: &Value, actual: &Value, evaluation: &Evaluation) -> bool {
    let is_list = ["warned", "annotated"].contains(&key);
    let is_sentences = is_list || ["invalid", "rejected"].contains(&key) && !actual.is_null();
    if is_sentences && !expected.is_null() {
        let expected = lines(expected).into_iter().flat_map(repeated);
        let expected: Vec<String> = expected.collect();
        let actual = lines(actual);
        let mut both = actual.iter().zip(&expected);
        return actual.len() == expected.len()
            && both.all(|(sentence, line)| tells(sentence, line, evaluation));
    }
    let is_empty = expected.as_array().is_some_and(Vec::is_empty);
    is_empty && actual.is_null() || expected == actual
}

/// The sentences of a message.
fn sentences(message: &str) -> Vec<&str> {
    let sentences = message.split("; ");
    sentences.filter(|sentence| !sentence.is_empty()).collect()
}

/// The entries of an annotation in a row, each about one container: `rule a b` are two.
fn entries_of(entries: &Value) -> Vec<Value> {
    let entries = match entries {
        Value::Array(entries) => entries.clone(),
        Value::Null => Vec::new(),
        entry => vec![entry.clone()],
    };
    let single = |entry: Value| match text(&entry).split_once(' ') {
        Some((rule, containers)) if is_rule(rule) => {
            let containers = containers.split(' ');
            let entries = containers.map(|container| format!("{rule} {container}").into());
            entries.collect::<Vec<Value>>()
        }
        _ => vec![entry],
    };
    entries.into_iter().flat_map(single).collect()
}

/// An entry of an annotation in short: `rule container`, or `image failure action`.
fn short(entry: &Value) -> Value {
    if let Some(more) = entry.get("more") {
        return format!("{more} more").into();
    }
    let keys: &[&str] = match entry.get("failure") {
        Some(_) => &["image", "failure", "action"],
        None => &["rule", "container"],
    };
    let words: Vec<&str> = keys.iter().map(|key| text(&entry[key])).collect();
    words.join(" ").into()
}

/// Whether a sentence is the line, or tells the finding or the failed lookup that the line names:
/// its container, its image, its pull policies, and all further words of the line.
fn tells(sentence: &str, line: &str, evaluation: &Evaluation) -> bool {
    if let Some((start, words)) = line.split_once(" …") {
        let words = words.trim_start();
        if is_short(start) && start.contains(' ') {
            return sentence.ends_with(&format!(": {words}")) && tells(sentence, start, evaluation);
        }
        let rest = sentence.strip_prefix(start);
        return rest.is_some_and(|rest| rest.starts_with([' ', ':']))
            && words
                .split_whitespace()
                .all(|word| has_word(sentence, word));
    }
    if !is_short(line) {
        return sentence == line;
    }
    let words: Vec<&str> = line.split(' ').collect();
    let (list, key) = match words[0] {
        "lookup" => ("lookups", "image"),
        _ => ("findings", "container"),
    };
    let entries = evaluation.list(list);
    let is_named = |entry: &&Value| {
        let is_of_rule = entry.get("rule").is_none_or(|rule| rule == words[0]);
        is_of_rule && words.get(1) == Some(&shown(&entry[key]).as_str())
    };
    let mut needed: Vec<String> = words[1..].iter().map(|&word| word.to_owned()).collect();
    if let Some(entry) = entries.iter().find(is_named) {
        let policies = ["found", "expected"].map(|key| &entry[key]);
        let policies = policies
            .into_iter()
            .filter(|&policy| ["Always", "IfNotPresent", "Never"].contains(&text(policy)));
        needed.extend(policies.chain([&entry["image"]]).map(shown));
    } else if entries.iter().all(|entry| entry.get("more").is_none()) {
        return false;
    }
    let is_there = |word: &String| word.trim_matches('_').is_empty() || has_word(sentence, word);
    needed.iter().all(is_there)
}

/// A text of the object as answers show it.
fn shown(value: &Value) -> String {
    text(value).replace(|c: char| c.is_whitespace() || c.is_control(), "_")
}

/// Whether a sentence has a word, perhaps with punctuation around it.
fn has_word(sentence: &str, word: &str) -> bool {
    let is_around = |text: &str| text.chars().all(|c| "\"(),;:`".contains(c)) || text == "'s";
    let mut words = sentence.split(' ').filter_map(|one| one.split_once(word));
    words.any(|(before, after)| is_around(before) && is_around(after))
}
