//! Compares an answer of the module with the verdict of the specification.
//!
//! The comparison covers whether the request is accepted, the code of a rejection, the returned
//! object, the changes, the record, the lookups and the failed lookups. Findings are compared by
//! rule, path and container, and a finding of *stuck-pull* also by its image if it names only one.
//! The lists of the audit annotations must be sorted.
//! The specification doesn't contain the sentences of messages and warnings. So the comparison checks
//! only these properties of the sentences:
//!
//! - There are at most ten warnings. A warning has at most 120 characters and no line break.
//! - `Verdict::warned` demands at least one warning. `Verdict::is_silent` demands that there is none.
//! - The message of a rejection isn't empty. If a field is malformed, the message has its path.
//! - No sentence has a control character, a secret or a phrase of `RETRIED`.
//!
//! If `Verdict::is_undecided` is set, the function `differences` compares nothing at all.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::generate::Case;
use crate::{Change, RECORD, Verdict};

/// The largest size of the record, in bytes.
const RECORD_BYTES: usize = 16 * 1024;
/// The API server's limit for the keys and values of an object's annotations, in bytes.
const ANNOTATIONS_BYTES: usize = 262_144;

/// Phrases that no sentence may contain. If a rejection contained one of these phrases, GitLab Runner,
/// Argo or Jenkins would mistake it for a network error or a full quota, and retry.
const RETRIED: [&str; 20] = [
    "error dialing backend",
    "TLS handshake timeout",
    "connection timed out",
    "Timeout occurred",
    "request timed out",
    "client connection lost",
    "connection refused",
    "tls: internal error",
    "unexpected EOF",
    "connection reset by peer",
    "software caused connection abort",
    "broken pipe",
    "i/o timeout",
    "invalid connection",
    "Connection closed by foreign host",
    "request did not complete within requested timeout",
    "exceeded quota",
    "client rate limiter Wait returned an error",
    "resource quota evaluation timed out",
    "etcdserver: leader changed",
];

/// The answer and the host calls of the module for one request.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The module's answer, parsed from JSON.
    pub answer: Value,
    /// The lookups that the module asked the host for, in order: the operation and the image.
    pub calls: Vec<(String, String)>,
}

impl Observed {
    /// Returns the images of all calls of one operation, in the order of the calls.
    fn images(&self, operation: &str) -> Value {
        let calls = self.calls.iter().filter(|(name, _)| name == operation);
        calls
            .map(|(_, image)| Value::from(image.as_str()))
            .collect()
    }
}

/// Returns the differences between the specification and the module, one line each.
#[must_use]
pub fn differences(case: &Case, verdict: &Verdict, observed: &Observed) -> Vec<String> {
    let mut lines = Vec::new();
    let answer = &observed.answer;
    if verdict.is_undecided {
        return lines;
    }
    let mut compare = |what: &str, specified: Value, module: Value| {
        if specified != module {
            lines.push(format!("{what}: specified {specified}, module {module}"));
        }
    };
    compare(
        "accepted",
        verdict.allowed.into(),
        answer["accepted"].clone(),
    );
    let (object, record) = split_record(case, answer);
    compare("object", verdict.object.clone().unwrap_or_default(), object);
    compare(
        "lookups",
        verdict.lookups.clone().into(),
        observed.images("v1/manifest_digest"),
    );
    compare(
        "manifests",
        verdict.manifests.clone().into(),
        observed.images("v1/oci_manifest"),
    );
    let failed: Vec<Value> = verdict
        .failed
        .iter()
        .map(|one| {
            serde_json::json!({
                "image": one.image, "failure": one.failure.name(),
                "asked": one.asked, "action": one.action,
            })
        })
        .collect();
    compare(
        "failed lookups",
        set(&failed),
        set(&annotation(answer, "lookups")),
    );
    // The image of a *stuck-pull* finding is compared too, because the rule exists to name this
    // image. If a finding has several images, its images are not compared.
    let has_one_image: BTreeSet<&str> = verdict
        .findings
        .iter()
        .filter(|one| one.rule == "stuck-pull" && !one.image.contains(", "))
        .map(|one| one.path.as_str())
        .collect();
    let of_finding = |rule: &str, path: &str, container: &str, image: &str| {
        let is_compared = rule == "stuck-pull" && has_one_image.contains(path);
        let image = if is_compared { image } else { "" };
        Value::from(vec![rule, path, container, image])
    };
    let specified: Vec<Value> = verdict
        .findings
        .iter()
        .map(|one| of_finding(one.rule, &one.path, &one.container, &one.image))
        .collect();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let module: Vec<Value> = annotation(answer, "findings")
        .iter()
        .map(|one| {
            of_finding(
                &text(one, "rule"),
                &text(one, "path"),
                &text(one, "container"),
                &text(one, "image"),
            )
        })
        .collect();
    compare("findings", set(&specified), set(&module));
    let changes: Vec<Value> = verdict.changes.iter().map(Change::json).collect();
    compare(
        "changes",
        set(&changes),
        set(&annotation(answer, "changes")),
    );
    if let Some(problem) = record_problem(case, verdict, record.as_deref()) {
        lines.push(format!("record: {problem}"));
    }
    lines.extend(sentences(verdict, answer));
    lines.extend(disorder(answer));
    if answer.to_string().contains("s3cr3t") && !answer["mutated_object"].is_object() {
        lines.push("a secret of the Pod stands in the answer".to_owned());
    }
    let told = [
        &answer["message"],
        &answer["warnings"],
        &answer["audit_annotations"],
    ];
    if told.iter().any(|part| part.to_string().contains("s3cr3t")) {
        lines.push("a secret of the Pod is told".to_owned());
    }
    lines
}

fn sentences(verdict: &Verdict, answer: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let message = answer["message"].as_str().unwrap_or_default();
    let code = verdict.code.map_or(Value::Null, Value::from);
    if answer["accepted"] == false && (message.is_empty() || answer["code"] != code) {
        lines.push(format!(
            "rejection: specified code {code}, module {} with the message {message:?}",
            answer["code"]
        ));
    }
    if let Some(path) = verdict
        .broken
        .as_deref()
        .filter(|path| !message.contains(path))
    {
        lines.push(format!("the message {message:?} does not name {path}"));
    }
    let warnings: Vec<&str> = answer["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if warnings.len() > 10
        || warnings
            .iter()
            .any(|line| line.chars().count() > 120 || line.contains('\n'))
    {
        lines.push(format!("warnings too many or too long: {warnings:?}"));
    }
    if verdict.warned && warnings.is_empty() {
        lines.push("nobody is warned".to_owned());
    }
    if verdict.is_silent && !warnings.is_empty() {
        lines.push(format!("warnings that nobody needs: {warnings:?}"));
    }
    for sentence in warnings.into_iter().chain([message]) {
        // Texts of the object can have control characters, but a sentence must not show them.
        if sentence.contains(char::is_control) {
            lines.push(format!("a control character in a sentence: {sentence:?}"));
        }
        let lower = sentence.to_lowercase();
        if let Some(phrase) = RETRIED
            .iter()
            .find(|phrase| lower.contains(&phrase.to_lowercase()))
        {
            lines.push(format!(
                "a controller would retry {sentence:?} for {phrase:?}"
            ));
        }
    }
    lines
}

/// Returns the problems of the audit annotations' form: a list that is empty or not sorted. Findings and
/// changes are sorted by path, and failed lookups by image.
fn disorder(answer: &Value) -> Vec<String> {
    let is_wrong = |name: &&str| {
        let list = annotation(answer, name);
        let is_empty = list.is_empty() && !answer["audit_annotations"][name].is_null();
        is_empty || !list.iter().map(sort_key).is_sorted()
    };
    let wrong = ["findings", "changes", "lookups"]
        .into_iter()
        .filter(is_wrong);
    wrong
        .map(|name| format!("the annotation {name} is empty or not sorted"))
        .collect()
}

/// The sort key of an entry: its image, if it has no path, or the parts of its path. An index in the path
/// is a number. So the tenth container comes after the second.
fn sort_key(entry: &Value) -> Vec<(Option<u64>, String)> {
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    if entry["path"].is_null() {
        return vec![(None, text("image"))];
    }
    text("path")
        .split(['.', '[', ']'])
        .map(|part| (part.parse().ok(), part.to_owned()))
        .collect()
}

/// Returns the entries of an audit annotation that holds a JSON list. If the annotation is missing
/// or holds no list, there are no entries.
fn annotation(answer: &Value, key: &str) -> Vec<Value> {
    answer["audit_annotations"][key]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

fn set(list: &[Value]) -> Value {
    let sorted: BTreeSet<String> = list.iter().map(Value::to_string).collect();
    sorted.into_iter().collect()
}

/// Returns two values. The first is the returned object, with the request's record in place of its own
/// (or with none, if the request has none). The second is the returned record, if it differs from the
/// request's record. Otherwise the second value is `None`.
fn split_record(case: &Case, answer: &Value) -> (Value, Option<String>) {
    let mut object = answer["mutated_object"].clone();
    let came_in = &case.request["object"]["metadata"];
    let before = came_in["annotations"].get(RECORD);
    let after = object
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(RECORD))
        .cloned();
    if object.is_null() || after.as_ref() == before {
        return (object, None);
    }
    let metadata = &mut object["metadata"];
    let annotations = metadata["annotations"].as_object_mut();
    match (before, annotations) {
        (Some(before), Some(annotations)) => {
            annotations.insert(RECORD.to_owned(), before.clone());
        }
        (None, Some(annotations)) => {
            annotations.remove(RECORD);
            if annotations.is_empty() {
                // In the request, `annotations` was missing, null or empty, and becomes so again here.
                match (
                    came_in.get("annotations").cloned(),
                    metadata.as_object_mut(),
                ) {
                    (Some(was), Some(metadata)) => metadata.insert("annotations".to_owned(), was),
                    (None, Some(metadata)) => metadata.remove("annotations"),
                    (_, None) => None,
                };
                if came_in.is_null() {
                    match (
                        case.request["object"].get("metadata"),
                        object.as_object_mut(),
                    ) {
                        (Some(was), Some(object)) => {
                            object.insert("metadata".to_owned(), was.clone())
                        }
                        (None, Some(object)) => object.remove("metadata"),
                        (_, None) => None,
                    };
                }
            }
        }
        _ => {}
    }
    (
        object,
        after.and_then(|record| record.as_str().map(str::to_owned)),
    )
}

/// Returns the problem of the module's record, or `None` if the record is right. A record lists the
/// new changes first, then the entries of an earlier record. It has at most 16 KiB. If some entries
/// don't fit, a last entry `{"more": n}` says how many were left out. If an object's annotations
/// would exceed 262,144 bytes, its record is shortened or left out.
fn record_problem(case: &Case, verdict: &Verdict, module: Option<&str>) -> Option<String> {
    let others: usize = case.request["object"]["metadata"]["annotations"]
        .as_object()
        .unwrap_or(&Map::new())
        .iter()
        .filter(|(key, _)| *key != RECORD)
        .map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len())
        .sum();
    let room = ANNOTATIONS_BYTES
        .saturating_sub(others + RECORD.len())
        .min(RECORD_BYTES);
    let Some(record) = &verdict.record else {
        return module.map(|text| format!("there is one, which nothing calls for: {text}"));
    };
    let whole: Vec<Value> = record
        .new
        .iter()
        .map(Change::json)
        .chain(record.earlier.clone())
        .collect();
    let size = Value::from(whole.clone()).to_string().len();
    // Near the limit for all annotations, the module may leave out more entries than necessary.
    let is_tight = room < RECORD_BYTES && room < 2 * size;
    let Some(text) = module else {
        let is_same = case.request["object"]["metadata"]["annotations"][RECORD]
            .as_str()
            .is_some_and(|before| serde_json::from_str::<Value>(before).ok() == Some(whole.into()));
        return (size <= room && !is_tight && !is_same)
            .then(|| format!("there is none, but {size} bytes fit"));
    };
    if text.len() > room {
        return Some(format!("it has {} bytes, where {room} fit", text.len()));
    }
    let Ok(Value::Array(entries)) = serde_json::from_str(text) else {
        return Some(format!("it is no list: {text}"));
    };
    let is_cut = entries.split_last().is_some_and(|(last, kept)| {
        last["more"].is_u64() && kept.iter().all(|entry| whole.contains(entry))
    });
    if is_tight && is_cut {
        return None;
    }
    // If an earlier record has an entry that this policy never writes (one with neither `rule` nor
    // `more`), the module may drop the earlier record. Then only the new changes have to fit.
    let is_change = |entry: &Value| entry["rule"].is_string() || entry["more"].is_u64();
    if !record.earlier.iter().all(is_change) && set(&entries) == set(&whole[..record.new.len()]) {
        return None;
    }
    if size <= room {
        // The new changes may have any order. The earlier entries keep their order.
        let (new, earlier) = entries.split_at(record.new.len().min(entries.len()));
        let agrees = set(new) == set(&whole[..record.new.len()]) && earlier == record.earlier;
        return (!agrees).then(|| format!("specified {}, module {text}", Value::from(whole)));
    }
    (!is_cut).then(|| format!("what does not fit is not counted: {text}"))
}
