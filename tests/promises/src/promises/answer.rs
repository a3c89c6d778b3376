//! Promises about every answer by itself: its form, its texts, and what it leaves untouched.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Answered, Kept, OfAnswer, SECRET, hold};
use crate::json::{LISTS, elements, entries_in, text};
use crate::requests::{is_pod, is_untouched, template_path};

pub(super) const PROMISES: [OfAnswer; 10] = [
    ("an-answer-accepts-or-says-why-not", accepts_or_says_why_not),
    ("the-code-says-if-trying-again-helps", has_the_right_code),
    ("warnings-are-at-most-ten-lines", warns_in_few_lines),
    (
        "texts-of-the-object-do-no-harm",
        shows_no_control_characters,
    ),
    ("no-secret-is-shown", shows_no_secret),
    ("no-sentence-looks-like-a-network-error", is_not_retried),
    (
        "the-audit-annotations-are-short-and-sorted",
        is_short_and_sorted,
    ),
    ("what-is-not-examined-is-accepted-untouched", is_left_alone),
    (
        "only-what-is-new-in-a-pod-is-changed",
        changes_only_what_is_new,
    ),
    ("each-finding-is-told", tells_each_finding),
];

/// The largest size of the record and of an audit annotation, in bytes.
pub(super) const LIST_BYTES: usize = 16 * 1024;

/// Phrases by which GitLab Runner, Argo or Jenkins would mistake a rejection for a network error or
/// a full quota, and retry.
static RETRIED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        "(?i)error dialing backend|TLS handshake timeout|connection timed out|Timeout occurred|",
        "request timed out|client connection lost|connection refused|tls: internal error|",
        "unexpected EOF|connection reset by peer|software caused connection abort|broken pipe|",
        "i/o timeout|invalid connection|Connection closed by foreign host|exceeded quota|",
        "request did not complete within requested timeout|etcdserver: leader changed|",
        "client rate limiter Wait returned an error|resource quota evaluation timed out",
    ))
    .expect("a regular expression")
});

/// Unicode's control and format characters, for example those that turn the direction of a text.
static UNSHOWN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{Cc}\p{Cf}]").expect("a regular expression"));

/// An accepted request has no message and no code. A rejected one has both, and no changed object.
fn accepts_or_says_why_not(answered: &Answered) -> Kept {
    let answer = &answered.observed.answer;
    let is_right = if answer["accepted"] == true {
        answer["message"].is_null() && answer["code"].is_null()
    } else {
        answer["accepted"] == false
            && !text(&answer["message"]).is_empty()
            && answer["mutated_object"].is_null()
    };
    hold(is_right, || answered.observed.told())
}

/// A rejection at UPDATE has the code 400. A rejection at CREATE without any lookup has the code
/// 422. Every other rejection has one of the two.
fn has_the_right_code(answered: &Answered) -> Kept {
    let (request, answer) = (&answered.case.request, &answered.observed.answer);
    let is_permanent = answered.observed.calls.is_empty() && request["object"].is_object();
    let is_right = match answer["code"].as_u64() {
        None => answer["accepted"] == true,
        Some(400) => request["operation"] == "UPDATE" || !is_permanent,
        Some(422) => request["operation"] == "CREATE",
        _ => false,
    };
    hold(is_right, || answered.observed.told())
}

fn warns_in_few_lines(answered: &Answered) -> Kept {
    let warnings = answered.observed.warnings();
    let is_line = |line: &Value| !text(line).is_empty() && !text(line).contains('\n');
    let is_right = warnings.len() <= 10 && warnings.iter().all(is_line);
    hold(is_right, || format!("{warnings:?}"))
}

/// The message of a rejection, and the warnings.
fn sentences<'a>(answered: &'a Answered) -> impl Iterator<Item = &'a str> {
    let warnings = answered.observed.warnings().iter().map(text);
    warnings.chain([text(&answered.observed.answer["message"])])
}

fn shows_no_control_characters(answered: &Answered) -> Kept {
    let wrong = sentences(answered).find(|sentence| UNSHOWN.is_match(sentence));
    hold(wrong.is_none(), || format!("{wrong:?}"))
}

/// Secrets are the values of environment variables, arguments, and the errors of the host. No part
/// of an answer has them, except the changed object.
fn shows_no_secret(answered: &Answered) -> Kept {
    let told = answered.observed.told();
    hold(!told.contains(SECRET), || told)
}

fn is_not_retried(answered: &Answered) -> Kept {
    let wrong = sentences(answered).find(|sentence| RETRIED.is_match(sentence));
    hold(wrong.is_none(), || format!("{wrong:?}"))
}

/// An audit annotation is a JSON list with at least one entry, in the order of the Pod or of the
/// images.
fn is_short_and_sorted(answered: &Answered) -> Kept {
    let annotations = answered.observed.answer["audit_annotations"].as_object();
    for (name, annotation) in annotations.into_iter().flatten() {
        let list = entries_in(annotation).unwrap_or_default();
        let entries = list.iter().filter(|entry| entry["more"].is_null());
        let is_known = ["findings", "changes", "lookups"].contains(&name.as_str());
        let is_right = is_known
            && !list.is_empty()
            && entries.map(sort_key).is_sorted()
            && text(annotation).len() <= LIST_BYTES;
        hold(is_right, || format!("{name}: {annotation}"))?;
    }
    Ok(())
}

/// The position of an entry in the Pod, or the image of an entry without a path.
fn sort_key(entry: &Value) -> (Option<usize>, Option<usize>, String) {
    let path = text(&entry["path"]);
    if path.is_empty() {
        return (None, None, text(&entry["image"]).to_owned());
    }
    let parts: Vec<&str> = path.split(['.', '[', ']']).collect();
    let list = LISTS.iter().position(|list| parts.contains(list));
    let index = parts.iter().find_map(|part| part.parse().ok());
    (list, index, String::new())
}

/// The table *Requests* says which requests are accepted untouched. Nobody is told anything about
/// them.
fn is_left_alone(answered: &Answered) -> Kept {
    if !is_untouched(&answered.case.request, answered.settings()) {
        return Ok(());
    }
    let answer = &answered.observed.answer;
    let is_empty = |key: &str| match &answer[key] {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    let parts = [
        "code",
        "message",
        "warnings",
        "audit_annotations",
        "mutated_object",
    ];
    let is_right = answer["accepted"] == true && parts.iter().all(|key| is_empty(key));
    hold(is_right && answered.observed.calls.is_empty(), || {
        answer.to_string()
    })
}

/// Only mode `Fix` changes anything, and only in Pods. At an UPDATE of a Pod only images of
/// containers that got another image may change, and at `ephemeralcontainers` only containers that
/// are new.
fn changes_only_what_is_new(answered: &Answered) -> Kept {
    let (request, answer) = (&answered.case.request, &answered.observed.answer);
    let changed = &answer["mutated_object"];
    if changed.is_null() {
        return Ok(());
    }
    let is_allowed = answered.settings().mode() == "Fix" && is_pod(request);
    hold(is_allowed && template_path(request).is_none(), || {
        answer.to_string()
    })?;
    if request["operation"] != "UPDATE" {
        return Ok(());
    }
    let is_ephemeral = !text(&request["subResource"]).is_empty();
    let (mut old, mut new) = (request["object"].clone(), changed.clone());
    for list in LISTS {
        let stored = elements(&request["oldObject"]["spec"], list);
        let both = [&mut old, &mut new].map(|object| object["spec"][list].as_array_mut());
        let [Some(old), Some(new)] = both else {
            continue;
        };
        for (old, new) in old.iter_mut().zip(new) {
            let before = stored.iter().find(|stored| stored["name"] == old["name"]);
            let is_new = match list {
                "ephemeralContainers" => is_ephemeral && before.is_none(),
                "volumes" => false,
                _ => !is_ephemeral && before.is_none_or(|before| before["image"] != old["image"]),
            };
            if is_new {
                new["image"] = old["image"].clone();
                if is_ephemeral {
                    new["imagePullPolicy"].take();
                    old["imagePullPolicy"].take();
                }
            }
        }
    }
    hold(old == new, || format!("{changed}"))
}

/// In modes `Reject` and `Warn`, the message of a rejection or a warning names the container and
/// the image of each finding, if they are written in ordinary letters.
fn tells_each_finding(answered: &Answered) -> Kept {
    let observed = answered.observed;
    if answered.settings().mode() == "Fix" || observed.warnings().len() == 10 {
        return Ok(());
    }
    let message = text(&observed.answer["message"]);
    let is_said = |part: &str| {
        let is_ordinary = part.len() <= 200
            && part.chars().all(|c| c.is_ascii_graphic() && c != '\\')
            && part.chars().any(|c| c.is_ascii_alphanumeric());
        let mut warnings = observed.warnings().iter().map(text);
        !is_ordinary || message.contains(part) || warnings.any(|line| line.contains(part))
    };
    let findings = observed.list("findings");
    let mut findings = findings.iter().filter(|finding| finding["more"].is_null());
    let untold = findings.find(|finding| {
        let parts = [&finding["container"], &finding["image"]];
        !parts.into_iter().map(text).all(is_said)
    });
    // A long message counts its last sentences.
    let is_counted = message.contains(" more");
    hold(untold.is_none() || is_counted, || {
        format!("{}: {}", untold.unwrap_or(&Value::Null), observed.told())
    })
}
