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
//! - No sentence has a control or format character, a secret or a phrase of `RETRIED`.
//!
//! If `Verdict::is_undecided` is set, the function `differences` compares nothing at all.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::generate::Case;
use crate::json::{elements, entries_in, text};
use crate::promises::SECRET;
use crate::record::{RECORD, without_record};
use crate::{Finding, Verdict};

/// The largest size of the record and of an audit annotation, in bytes.
const LIST_BYTES: usize = 16 * 1024;
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

/// Unicode's control and format characters, for example those that turn the direction of a text.
static UNSHOWN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{Cc}\p{Cf}]").expect("a regular expression"));

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

    pub(crate) fn is_accepted(&self) -> bool {
        self.answer["accepted"] == true
    }

    /// Returns the entries of an audit annotation that holds a JSON list. If the annotation is missing
    /// or holds no list, there are no entries.
    pub(crate) fn annotation(&self, key: &str) -> Vec<Value> {
        entries_in(&self.answer["audit_annotations"][key]).unwrap_or_default()
    }

    /// Returns what is compared of each entry of an audit annotation. An annotation has at most 16 KiB. If
    /// some entries don't fit, its last element `{"more": n}` counts them. If the count is right, the
    /// specified entries that are missing are added.
    fn whole_list(
        &self,
        key: &str,
        compared: impl Fn(&Value) -> Value,
        specified: &[Value],
    ) -> Vec<Value> {
        let mut entries = self.annotation(key);
        let is_full = text(&self.answer["audit_annotations"][key]).len() > LIST_BYTES / 2;
        let is_count = |last: &mut Value| is_full && last["more"].is_u64();
        let left_out = entries.pop_if(is_count).map(|last| last["more"].as_u64());
        let mut entries: Vec<Value> = entries.iter().map(compared).collect();
        let missing = specified.iter().filter(|one| !entries.contains(one));
        let missing: Vec<Value> = missing.cloned().collect();
        if left_out.flatten() == u64::try_from(missing.len()).ok() {
            entries.extend(missing);
        }
        entries
    }

    /// Returns the changed object, or the object of the request if the module didn't change it.
    pub(crate) fn object_after<'o>(&'o self, request: &'o Value) -> &'o Value {
        match &self.answer["mutated_object"] {
            Value::Null => &request["object"],
            object => object,
        }
    }

    /// Returns the answer without the changed object, as text.
    pub(crate) fn told(&self) -> String {
        let mut told = self.answer.clone();
        told["mutated_object"].take();
        told.to_string()
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
    // The text of the record, if the module wrote one.
    let record = &answer["mutated_object"]["metadata"]["annotations"][RECORD];
    let is_new = *record != case.request["object"]["metadata"]["annotations"][RECORD];
    let record = record.as_str().filter(|_| is_new);
    let without_new_record = |object: &Value| match record {
        Some(_) => without_record(object),
        None => object.clone(),
    };
    let specified_object = verdict.object.as_ref().unwrap_or(&Value::Null);
    let specified_findings: Vec<Value> = verdict.findings.iter().map(specified_finding).collect();
    let compared = |finding: &Value| compared(finding, verdict);
    let findings = observed.whole_list("findings", compared, &specified_findings);
    for (what, specified, module) in [
        (
            "accepted",
            verdict.allowed.into(),
            answer["accepted"].clone(),
        ),
        (
            "object",
            without_new_record(specified_object),
            without_new_record(&answer["mutated_object"]),
        ),
        (
            "lookups",
            verdict.lookups.clone().into(),
            observed.images("v1/manifest_digest"),
        ),
        (
            "manifests",
            verdict.manifests.clone().into(),
            observed.images("v1/oci_manifest"),
        ),
        (
            "failed lookups",
            set(&verdict.failed),
            set(&observed.whole_list("lookups", Value::clone, &verdict.failed)),
        ),
        ("findings", set(&specified_findings), set(&findings)),
        (
            "changes",
            set(&verdict.changes),
            set(&observed.whole_list("changes", Value::clone, &verdict.changes)),
        ),
    ] {
        if specified != module {
            lines.push(format!("{what}: specified {specified}, module {module}"));
        }
    }
    if let Some(problem) = record_problem(case, verdict, record) {
        lines.push(format!("record: {problem}"));
    }
    lines.extend(sentences(verdict, answer));
    lines.extend(disorder(observed));
    if observed.told().contains(SECRET) {
        lines.push("a secret of the Pod is told".to_owned());
    }
    lines
}

/// The parts of a specified finding that are compared. The image of a *stuck-pull* finding is compared
/// too, because the rule exists to name this image. If a finding has several images, its images are not
/// compared.
fn specified_finding(finding: &Finding) -> Value {
    let is_compared = finding.rule == "stuck-pull" && !finding.image.contains(", ");
    let image = if is_compared { &finding.image } else { "" };
    let container = cut(&finding.container);
    Value::from(vec![finding.rule, &finding.path, &container, image])
}

/// A text as the annotation `findings` shows it: with at most 512 characters, cut in the middle.
fn cut(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    match letters.len() {
        0..=512 => text.to_owned(),
        size => {
            let parts = [&letters[..255], &['.', '.', '.'], &letters[size - 254..]];
            parts.concat().into_iter().collect()
        }
    }
}

/// The parts of a module's finding that are compared.
fn compared(finding: &Value, verdict: &Verdict) -> Value {
    let mut specified = verdict.findings.iter();
    let same = specified.find(|one| one.rule == finding["rule"] && one.path == finding["path"]);
    let has_image = same.is_some_and(|one| specified_finding(one)[3] != "");
    let image = if has_image {
        text(&finding["image"])
    } else {
        ""
    };
    let [rule, path, container] = ["rule", "path", "container"].map(|key| text(&finding[key]));
    Value::from(vec![rule, path, container, image])
}

fn sentences(verdict: &Verdict, answer: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let message = text(&answer["message"]);
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
    let warnings: Vec<&str> = elements(answer, "warnings").iter().map(text).collect();
    let is_long = |line: &&str| line.chars().count() > 120 || line.contains('\n');
    if warnings.len() > 10 || warnings.iter().any(is_long) {
        lines.push(format!("warnings too many or too long: {warnings:?}"));
    }
    if verdict.warned && warnings.is_empty() {
        lines.push("nobody is warned".to_owned());
    }
    if verdict.is_silent && !warnings.is_empty() {
        lines.push(format!("warnings that nobody needs: {warnings:?}"));
    }
    for sentence in warnings.into_iter().chain([message]) {
        // Texts of the object can have such characters, but a sentence must not show them.
        if UNSHOWN.is_match(sentence) {
            lines.push(format!("a control or format character: {sentence:?}"));
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
/// changes have the order of the Pod, failed lookups that of their images.
fn disorder(observed: &Observed) -> Vec<String> {
    let is_wrong = |name: &&str| {
        let list = observed.annotation(name);
        let is_empty = list.is_empty() && !observed.answer["audit_annotations"][name].is_null();
        let entries = list.iter().filter(|entry| entry["more"].is_null());
        is_empty || !entries.map(sort_key).is_sorted()
    };
    let names = ["findings", "changes", "lookups"].into_iter();
    names
        .filter(is_wrong)
        .map(|name| format!("the annotation {name} is empty or not sorted"))
        .collect()
}

/// The sort key of an entry: the list and the index in its path, or its image if it has no path. Paths in
/// the status come after all others.
fn sort_key(entry: &Value) -> (Option<usize>, usize, String) {
    const LISTS: [&str; 4] = [
        "initContainers",
        "containers",
        "ephemeralContainers",
        "volumes",
    ];
    let path = text(&entry["path"]);
    if path.is_empty() {
        return (None, 0, text(&entry["image"]).to_owned());
    }
    if path.starts_with("status.") {
        return (Some(LISTS.len()), 0, String::new());
    }
    let parts: Vec<&str> = path.split(['.', '[', ']']).collect();
    let list = LISTS.iter().position(|list| parts.contains(list));
    let index = parts.iter().find_map(|part| part.parse().ok());
    (list, index.unwrap_or_default(), String::new())
}

fn set(list: &[Value]) -> Value {
    let sorted: BTreeSet<String> = list.iter().map(Value::to_string).collect();
    sorted.into_iter().collect()
}

/// The entries of a record with one count at their end. The module adds the counts with 32 bits.
fn with_one_count(entries: &[Value]) -> Vec<Value> {
    let is_count = |entry: &&Value| entry["more"].is_u64();
    let counts = entries.iter().filter(is_count);
    let sum: u64 = counts.filter_map(|entry| entry["more"].as_u64()).sum();
    let mut entries: Vec<Value> = entries
        .iter()
        .filter(|one| !is_count(one))
        .cloned()
        .collect();
    if sum > 0 {
        entries.push(json!({"more": sum.min(u64::from(u32::MAX))}));
    }
    entries
}

/// Returns the problem of the module's record, or `None` if the record is right. A record lists the
/// new changes first, then the entries of an earlier record. It has at most 16 KiB. If some entries
/// don't fit, a last entry `{"more": n}` says how many were left out. If an object's annotations
/// would exceed 262,144 bytes, its record is shortened or left out.
fn record_problem(case: &Case, verdict: &Verdict, module: Option<&str>) -> Option<String> {
    let annotations = &case.request["object"]["metadata"]["annotations"];
    let others = annotations.as_object().into_iter().flatten();
    let others: usize = others
        .filter(|(key, _)| *key != RECORD)
        .map(|(key, value)| key.len() + text(value).len())
        .sum();
    let room = ANNOTATIONS_BYTES
        .saturating_sub(others + RECORD.len())
        .min(LIST_BYTES);
    let Some(whole) = &verdict.record else {
        return module.map(|text| format!("there is one, which nothing calls for: {text}"));
    };
    let whole = &with_one_count(whole);
    let size = Value::from(whole.clone()).to_string().len();
    // Near the limit for all annotations, the module may leave out more entries than necessary.
    let is_tight = room < LIST_BYTES && room < 2 * size;
    let Some(text) = module else {
        let is_same = entries_in(&annotations[RECORD]).as_ref() == Some(whole);
        return (size <= room && !is_tight && !is_same)
            .then(|| format!("there is none, but {size} bytes fit"));
    };
    if text.len() > room {
        return Some(format!("it has {} bytes, where {room} fit", text.len()));
    }
    let Some(entries) = entries_in(&text.into()) else {
        return Some(format!("it is no list: {text}"));
    };
    let is_cut = entries.split_last().is_some_and(|(last, kept)| {
        last["more"].is_u64() && kept.iter().all(|entry| whole.contains(entry))
    });
    if is_tight && is_cut {
        return None;
    }
    let (new, earlier) = whole.split_at(verdict.changes.len());
    if size <= room {
        // The new changes may have any order. The earlier entries keep their order.
        let agrees = entries.len() == whole.len()
            && set(&entries[..new.len()]) == set(new)
            && entries[new.len()..] == *earlier;
        return (!agrees).then(|| format!("specified {}, module {text}", set(whole)));
    }
    (!is_cut).then(|| format!("what does not fit is not counted: {text}"))
}
