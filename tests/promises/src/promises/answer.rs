//! Promises about every answer by itself: its form, its texts, and what it may change.

use std::sync::LazyLock;

use kubewarden_policy_sdk::request::ValidationRequest;
use regex::Regex;
use serde_json::Value;

use super::{Answered, Kept, OfAnswer, SECRET, hold, is_pod};
use crate::json::{LISTS, elements, text};
use crate::policy::payload;

pub(super) const PROMISES: [OfAnswer; 4] = [
    ("an-answer-accepts-or-says-why-not", accepts_or_says_why_not),
    ("texts-do-no-harm", does_no_harm),
    ("no-secret-is-shown", shows_no_secret),
    (
        "only-what-is-new-in-a-pod-is-changed",
        changes_only_what_is_new,
    ),
];

/// The largest size of the record and of an audit annotation, in bytes.
pub(super) const LIST_BYTES: usize = 16 * 1024;

/// Unicode's control and format characters, and phrases by which GitLab Runner, Argo or Jenkins
/// would mistake a rejection for a network error or a full quota, and retry.
static HARMFUL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)[\p{Cc}\p{Cf}]|",
        "error dialing backend|TLS handshake timeout|connection timed out|Timeout occurred|",
        "request timed out|client connection lost|connection refused|tls: internal error|",
        "unexpected EOF|connection reset by peer|software caused connection abort|broken pipe|",
        "i/o timeout|invalid connection|Connection closed by foreign host|exceeded quota|",
        "request did not complete within requested timeout|etcdserver: leader changed|",
        "client rate limiter Wait returned an error|resource quota evaluation timed out",
    ))
    .expect("a regular expression")
});

/// An accepted request has no message and no code. A rejected one has both, and no changed object.
/// Its code is 400 at UPDATE and where the request can't be read, 422 at CREATE without any lookup,
/// and else one of the two.
fn accepts_or_says_why_not(answered: &Answered) -> Kept {
    let (request, answer) = (&answered.case.request, &answered.observed.answer);
    let payload = payload(request, &answered.case.settings);
    let is_read = serde_json::from_slice::<ValidationRequest<Value>>(&payload).is_ok();
    let is_permanent =
        is_read && answered.observed.calls.is_empty() && request["object"].is_object();
    let is_right = match (answer["accepted"].as_bool(), answer["code"].as_u64()) {
        (Some(true), None) => answer["message"].is_null(),
        (Some(false), Some(code)) => {
            let is_code = match code {
                400 => request["operation"] == "UPDATE" || !is_permanent,
                422 => is_read && request["operation"] == "CREATE",
                _ => false,
            };
            is_code && !text(&answer["message"]).is_empty() && answer["mutated_object"].is_null()
        }
        _ => false,
    };
    hold(is_right, || answered.observed.told())
}

/// There are at most ten warnings. No sentence has a harmful text. No audit annotation is longer
/// than 16 KiB.
fn does_no_harm(answered: &Answered) -> Kept {
    let answer = &answered.observed.answer;
    let warnings = answered.observed.warnings();
    let sentences = warnings.iter().chain([&answer["message"]]).map(text);
    let annotations = answer["audit_annotations"].as_object();
    let mut annotations = annotations.into_iter().flat_map(|list| list.values());
    let is_right = warnings.len() <= 10
        && sentences
            .clone()
            .all(|sentence| !HARMFUL.is_match(sentence))
        && annotations.all(|list| text(list).len() <= LIST_BYTES);
    hold(is_right, || answered.observed.told())
}

/// Secrets are the values of environment variables, arguments, and the errors of the host. No part
/// of an answer has them, except the changed object.
fn shows_no_secret(answered: &Answered) -> Kept {
    let told = answered.observed.told();
    hold(!told.contains(SECRET), || told)
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
    hold(is_allowed, || answer.to_string())?;
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
            let before = stored.iter().rfind(|stored| stored["name"] == old["name"]);
            let is_new = match list {
                "ephemeralContainers" => is_ephemeral && before.is_none(),
                "volumes" => false,
                _ => !is_ephemeral && before.is_none_or(|before| before["image"] != old["image"]),
            };
            if is_new {
                for container in [&mut *old, &mut *new] {
                    container["image"] = Value::Null;
                    if is_ephemeral {
                        container["imagePullPolicy"] = Value::Null;
                    }
                }
            }
        }
    }
    hold(old == new, || format!("{changed}"))
}
