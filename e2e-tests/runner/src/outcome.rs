//! Compares what came out with what a row expects.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::case::{Case, pod_spec};
use crate::host::Evaluation;
use crate::notation::{get, lengthened, places_of_spec, repeated, short_digests, text, tidy};
use crate::row::{Entries, Expected, Lines, Row, is_short};

impl Row {
    /// A case, its lookups and the answer, for other programs that compare themselves with the rows.
    #[must_use]
    pub fn exported(&self, case: &Case, evaluation: &Evaluation) -> Value {
        let calls = evaluation.calls.iter().map(|(operation, image)| {
            let (key, text) = match case.registries.answer(operation, image) {
                Ok(answer) => ("answer", answer.to_string()),
                Err(error) => ("error", error),
            };
            json!({"operation": operation, "image": image, key: text})
        });
        let mut line = json!({
            "place": self.place,
            "request": case.request,
            "settings": case.settings,
            "calls": calls.collect::<Vec<_>>(),
        });
        match &evaluation.invalid {
            Some(message) => line["invalid"] = message.as_str().into(),
            None => line["answer"] = evaluation.answer.clone(),
        }
        line
    }

    /// Returns what is not as the row expects: what was expected and what came, both as a row is written.
    #[must_use]
    pub fn difference(&self, case: &Case, evaluation: &Evaluation) -> Option<String> {
        let outcome = Outcome::new(case, evaluation, &self.expected);
        let wrong = self.expected.wrong(case, evaluation, &outcome);
        if wrong.is_empty() {
            return None;
        }
        let mut report = self.place.clone();
        for value in &case.values {
            let _ = write!(report, "\n  with {}", short_digests(value));
        }
        let expected: Vec<(&str, Value)> = wrong;
        let _ = write!(
            report,
            "\nexpected\n{}came\n{}",
            yaml(&expected),
            yaml(&outcome.told(&self.expected))
        );
        let _ = write!(report, "settings\n  {}\n", case.settings);
        Some(report)
    }
}

fn yaml(entries: &[(&str, Value)]) -> String {
    let mut lines = String::new();
    for (key, value) in entries {
        let entry = yaml_serde::to_string(&json!({*key: value})).unwrap_or_default();
        for line in entry.lines() {
            let _ = writeln!(lines, "  {}", short_digests(line));
        }
    }
    lines
}

/// What came out, as a row writes it.
struct Outcome {
    accepted: bool,
    sentences: Vec<String>,
    code: Value,
    warnings: Vec<String>,
    after: Option<Vec<String>>,
    has: Vec<(String, Value)>,
    findings: Vec<Value>,
    changes: Vec<Value>,
    record: Vec<Value>,
    lookups: Vec<Value>,
    asked: Vec<String>,
    invalid: Option<Vec<String>>,
}

impl Outcome {
    fn new(case: &Case, evaluation: &Evaluation, expected: &Expected) -> Self {
        let answer = &evaluation.answer;
        let list = |key: &str| -> Vec<Value> {
            serde_json::from_str(text(&answer["audit_annotations"][key])).unwrap_or_default()
        };
        let after = &answer["mutated_object"];
        let object = if after.is_null() {
            &case.request["object"]
        } else {
            after
        };
        let has = expected
            .has
            .keys()
            .map(|path| (path.clone(), get(object, path).cloned().unwrap_or_default()));
        let calls = evaluation.calls.iter().map(|(operation, image)| {
            let index = if operation == "v1/oci_manifest" {
                "index of "
            } else {
                ""
            };
            format!("{index}{image}")
        });
        Self {
            accepted: answer["accepted"] == true,
            sentences: sentences(text(&answer["message"])),
            code: answer["code"].clone(),
            warnings: answer["warnings"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|line| text(line).to_owned())
                .collect(),
            after: (!after.is_null()).then(|| places_of_spec(&pod_spec(&case.request, after))),
            has: has.collect(),
            findings: list("findings"),
            changes: list("changes"),
            record: record(after),
            lookups: list("lookups"),
            asked: calls.collect(),
            invalid: evaluation.invalid.as_deref().map(sentences),
        }
    }

    /// The lists of entries, as they came and as a row expects them.
    fn lists<'a>(
        &'a self,
        expected: &'a Expected,
    ) -> impl Iterator<Item = (&'static str, &'a [Value], Option<&'a Entries>)> {
        let lists = [
            ("findings", &self.findings[..], expected.findings.as_ref()),
            ("changes", &self.changes, expected.changes.as_ref()),
            ("record", &self.record, expected.record.as_ref()),
            ("lookups", &self.lookups, expected.lookups.as_ref()),
        ];
        lists.into_iter()
    }

    /// Everything that a row may tell about this outcome.
    fn told(&self, expected: &Expected) -> Vec<(&'static str, Value)> {
        if let Some(problems) = &self.invalid {
            return vec![("invalid", json!(problems))];
        }
        let mut told = Vec::new();
        match &self.after {
            Some(places) => told.push(("after", json!(places.join(", ")))),
            None if self.accepted => told.push(("after", Value::Null)),
            None => told.extend([
                ("rejected", json!(self.sentences)),
                ("code", self.code.clone()),
            ]),
        }
        told.extend([
            (
                "has",
                json!(self.has.iter().cloned().collect::<serde_json::Map<_, _>>()),
            ),
            ("warned", json!(self.warnings)),
            ("asked", json!(self.asked)),
        ]);
        told.extend(self.lists(expected).map(|(key, came, expected)| {
            let is_whole = expected.is_some_and(Entries::is_whole);
            (
                key,
                came.iter()
                    .map(|one| if is_whole { one.clone() } else { short(one) })
                    .collect(),
            )
        }));
        told.retain(|(key, value)| {
            *key == "after" || value.as_array().is_none_or(|list| !list.is_empty())
        });
        told.retain(|(_, value)| value.as_object().is_none_or(|object| !object.is_empty()));
        told
    }
}

/// The record of changes in an object.
fn record(object: &Value) -> Vec<Value> {
    let record = text(&object["metadata"]["annotations"]["consistent-pull-policy/changes"]);
    serde_json::from_str(record).unwrap_or_default()
}

/// The sentences of a message.
fn sentences(message: &str) -> Vec<String> {
    message
        .split("; ")
        .map(short_digests)
        .filter(|sentence| !sentence.is_empty())
        .collect()
}

/// An entry of an audit annotation as a row may write it: `rule container`, or `image failure action`.
fn short(entry: &Value) -> Value {
    let words = match entry.get("image").filter(|_| entry["rule"].is_null()) {
        Some(image) => vec![text(image), text(&entry["failure"]), text(&entry["action"])],
        None => vec![text(&entry["rule"]), text(&entry["container"])],
    };
    if let Some(more) = entry.get("more") {
        return format!("{more} more").into();
    }
    let not_asked = if entry["asked"] == false {
        " (not asked)"
    } else {
        ""
    };
    short_digests(&format!("{}{not_asked}", words.join(" "))).into()
}

impl Expected {
    /// Whether the row says how the object is afterwards.
    fn is_repaired(&self) -> bool {
        self.after.is_some()
            || !self.has.is_empty()
            || self.changes.is_some()
            || self.record.is_some()
    }

    /// The keys that came out otherwise, with what the row expects.
    fn wrong(
        &self,
        case: &Case,
        evaluation: &Evaluation,
        outcome: &Outcome,
    ) -> Vec<(&'static str, Value)> {
        let mut wrong = Vec::new();
        let mut expect = |key: &'static str, is_right: bool, expected: Value| {
            if !is_right {
                wrong.push((key, expected));
            }
        };
        let invalid = outcome.invalid.as_deref().unwrap_or_default();
        expect(
            "invalid",
            tell(invalid, self.invalid.as_ref(), outcome),
            lines(self.invalid.as_ref()),
        );
        if self.invalid.is_some() || outcome.invalid.is_some() {
            return wrong;
        }
        let is_told = tell(&outcome.sentences, self.rejected.as_ref(), outcome);
        expect(
            "rejected",
            is_told && outcome.accepted == self.rejected.is_none(),
            lines(self.rejected.as_ref()),
        );
        if self.rejected.is_some() {
            let usual = if case.request["operation"] == "UPDATE" {
                400
            } else {
                422
            };
            let code = self.code.unwrap_or(usual);
            expect("code", outcome.code == code, code.into());
        }
        if let Some(after) = self.after.as_deref().map(tidy) {
            expect(
                "after",
                outcome.after.as_ref() == Some(&after),
                after.join(", ").into(),
            );
        } else if !self.is_repaired() {
            expect("after", outcome.after.is_none(), Value::Null);
        }
        for (path, value) in &self.has {
            let came = outcome.has.iter().find(|(one, _)| one == path);
            expect(
                "has",
                came.is_some_and(|(_, came)| *came == lengthened(value)),
                json!({path: value}),
            );
        }
        if self.warned.is_some() || !self.is_repaired() {
            expect(
                "warned",
                tell(&outcome.warnings, self.warned.as_ref(), outcome),
                lines(self.warned.as_ref()),
            );
        }
        let is_untouched = !self.is_repaired() && self.rejected.is_none() && self.warned.is_none();
        for (key, came, expected) in outcome.lists(self) {
            let (is_whole, entries) = match expected {
                Some(expected) => (expected.is_whole(), expected.entries()),
                None if key == "findings" && is_untouched => (false, Vec::new()),
                None => continue,
            };
            let came = came
                .iter()
                .map(|one| if is_whole { shortened(one) } else { short(one) });
            expect(key, came.eq(entries.iter().map(shortened)), json!(entries));
        }
        let unknown = evaluation
            .calls
            .iter()
            .find(|(_, image)| !case.registries.knows(image));
        expect(
            "registry",
            unknown.is_none(),
            json!(unknown.map(|(_, image)| format!("an answer for {image}"))),
        );
        match &self.asked {
            Some(asked) => expect("asked", *asked == outcome.asked, json!(asked)),
            None => {
                let images: Vec<&str> = case.registries.images().collect();
                let is_asked =
                    |image: &&str| evaluation.calls.iter().any(|(_, asked)| asked == *image);
                expect("asked", images.iter().all(is_asked), json!(images));
            }
        }
        wrong
    }
}

fn shortened(entry: &Value) -> Value {
    match entry {
        Value::String(text) => short_digests(text).into(),
        Value::Object(entry) => entry
            .iter()
            .map(|(key, value)| (key.clone(), shortened(value)))
            .collect(),
        other => other.clone(),
    }
}

fn lines(lines: Option<&Lines>) -> Value {
    json!(lines.map(Lines::lines))
}

/// Whether there is one sentence for each line of a row, in the same order.
fn tell(sentences: &[String], expected: Option<&Lines>, outcome: &Outcome) -> bool {
    let expected: Vec<String> = expected
        .iter()
        .flat_map(|lines| lines.lines())
        .flat_map(|line| repeated(line))
        .collect();
    sentences.len() == expected.len()
        && sentences
            .iter()
            .zip(&expected)
            .all(|(sentence, line)| tells(&short_digests(sentence), &short_digests(line), outcome))
}

/// Whether a sentence is the line, or tells the finding or the failed lookup that the line names: its container, its
/// image, its pull policies, and all further words of the line.
fn tells(sentence: &str, line: &str, outcome: &Outcome) -> bool {
    if let Some((start, words)) = line.split_once(" …") {
        let is_start = sentence
            .strip_prefix(start)
            .is_some_and(|rest| rest.starts_with([' ', ':']));
        return is_start
            && words
                .split_whitespace()
                .all(|word| has_word(sentence, word));
    }
    if !is_short(line) {
        return sentence == line;
    }
    let words: Vec<&str> = line.split(' ').collect();
    let (list, key) = if words[0] == "lookup" {
        (&outcome.lookups, "image")
    } else {
        (&outcome.findings, "container")
    };
    let is_named = |entry: &&Value| {
        let named = shown(&entry[key]);
        (entry.get("rule").is_none_or(|rule| rule == words[0]))
            && words.get(1) == Some(&named.as_str())
    };
    let mut needed: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
    match list.iter().find(is_named) {
        Some(entry) => {
            let policies = ["found", "expected"].map(|key| &entry[key]);
            let policies = policies
                .into_iter()
                .filter(|policy| ["Always", "IfNotPresent", "Never"].contains(&text(policy)));
            needed.extend(policies.chain([&entry["image"]]).map(shown));
        }
        None if list.iter().any(|entry| entry.get("more").is_some()) => {}
        None => return false,
    }
    needed
        .iter()
        .all(|word| word.trim_matches('_').is_empty() || has_word(sentence, word))
}

/// A text of the object as answers show it.
fn shown(value: &Value) -> String {
    short_digests(&text(value).replace(|c: char| c.is_whitespace() || c.is_control(), "_"))
}

/// Whether a sentence has a word, perhaps with punctuation around it.
fn has_word(sentence: &str, word: &str) -> bool {
    let is_around = |text: &str| text.chars().all(|c| "\"(),;:`".contains(c)) || text == "'s";
    sentence.split(' ').any(|one| {
        let parts = one
            .find(word)
            .and_then(|at| Some((one.get(..at)?, one.get(at + word.len()..)?)));
        parts.is_some_and(|(before, after)| is_around(before) && is_around(after))
    })
}
