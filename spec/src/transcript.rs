//! Replays the evaluations in the transcripts that `make e2e-tests` writes. Each line of a transcript is
//! one evaluation by a host: a request, the settings, the host calls and the module's answer. The
//! module's answer must agree with the verdict of the specification.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::answers::{Answers, Failure};
use crate::compare::{Observed, differences};
use crate::generate::Case;
use crate::json::text;
use crate::{Settings, validate};

/// One evaluation from the transcript.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The `AdmissionRequest` that the module got, the settings, and the registries' answers.
    pub case: Case,
    /// The reason why the settings were refused, or `None` if they were accepted. If they were refused,
    /// there is no answer.
    pub refusal: Option<String>,
    /// The answer, in the form of waPC's payload, and the host calls.
    pub observed: Observed,
}

/// Returns the differences between an evaluation and the specification, one line each.
#[must_use]
pub fn replay(evaluation: &Evaluation) -> Vec<String> {
    let case = &evaluation.case;
    if evaluation.refusal.is_some() {
        // The module may have refused a value of a wrong type. The specification doesn't know the
        // types of the settings, so it can't check a refusal.
        return Vec::new();
    }
    let contradictions = Settings(&case.settings).contradictions();
    if !contradictions.is_empty() {
        return vec![format!(
            "settings: specified as refused, {contradictions:?}"
        )];
    }
    let verdict = validate(&case.request, &case.settings, &case.answers);
    differences(case, &verdict, &evaluation.observed)
}

/// Reads host calls from the transcript. Returns the operation and the image of each call, and the
/// registries' answers. The keys of a call are `operation`, `payload`, `answer` and `error`.
#[must_use]
pub fn host_calls(calls: &[Value]) -> (Vec<(String, String)>, Answers) {
    let mut asked = Vec::new();
    let mut answers = Answers::default();
    for call in calls {
        let json =
            |key: &str| -> Value { serde_json::from_str(text(&call[key])).unwrap_or_default() };
        let image = text(&json("payload")).to_owned();
        let answer = match call["error"].as_str() {
            Some(error) => Err(failure_of(error)),
            None => Ok(json("answer")),
        };
        let operation = text(&call["operation"]);
        if operation == "v1/manifest_digest" {
            let digest = answer.map(|answer| text(&answer["digest"]).to_owned());
            answers.digests.entry(image.clone()).or_insert(digest);
        } else {
            let index = answer.map(|answer| platforms(&answer));
            answers.indexes.entry(image.clone()).or_insert(index);
        }
        asked.push((operation.to_owned(), image));
    }
    (asked, answers)
}

/// Returns the platforms of an image index: each operating system and architecture. `None` means that
/// the manifest is no index.
fn platforms(manifest: &Value) -> Option<Vec<(String, String)>> {
    let entries = manifest["manifests"].as_array()?.iter();
    let platforms = entries.map(|entry| &entry["platform"]);
    let name = |platform: &Value, key: &str| text(&platform[key]).to_owned();
    Some(
        platforms
            .filter(|platform| platform.is_object())
            .map(|platform| (name(platform, "os"), name(platform, "architecture")))
            .collect(),
    )
}

// The errors of oci-client and of Kubewarden's hosts. The first match in the error text decides, because
// the registry's own words come later in the error text and may be any words.
static HOST_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        "(?P<refused>has not been granted access)",
        "|(?P<denied>Not authorized:)",
        "|(?P<unreachable>error sending request for url)",
        r"|Server error: url[^\n]*?, code: (?P<status>[0-9]{3})",
        r"|OCI API errors: \[(?P<message>[^\n]*)",
    ))
    .expect("a regular expression")
});

static MESSAGES: LazyLock<[(Regex, Failure); 4]> = LazyLock::new(|| {
    [
        (
            "rate limit|rate exceeded|too many requests|toomanyrequests",
            Failure::RateLimited,
        ),
        (
            "(manifest|name) unknown|not known to (the )?registry|not found|does not exist|was deleted\
             |failed to fetch \"",
            Failure::NotFound,
        ),
        (
            "not authorized|denied|unauthorized|unauthenticated|authentication required|forbidden\
             |authorization token has expired",
            Failure::Denied,
        ),
        ("service unavailable", Failure::Unreachable),
    ]
    .map(|(words, failure)| {
        let words = Regex::new(&format!("(?i-u:{words})")).expect("a regular expression");
        (words, failure)
    })
});

/// Derives the class of a failed lookup from the host's error text.
#[must_use]
pub fn failure_of(text: &str) -> Failure {
    let Some(part) = HOST_ERROR.captures(text) else {
        return Failure::Unknown;
    };
    if part.name("refused").is_some() {
        Failure::NotGranted
    } else if part.name("denied").is_some() {
        Failure::Denied
    } else if part.name("unreachable").is_some() {
        Failure::Unreachable
    } else if let Some(status) = part.name("status") {
        match status.as_str().parse() {
            Ok(401 | 403) => Failure::Denied,
            Ok(404) => Failure::NotFound,
            Ok(429) => Failure::RateLimited,
            Ok(500..=599_u16) => Failure::Unreachable,
            _ => Failure::Unknown,
        }
    } else {
        let message = part.name("message").map_or("", |message| message.as_str());
        let known = MESSAGES.iter().find(|(words, _)| words.is_match(message));
        known.map_or(Failure::Unknown, |(_, failure)| *failure)
    }
}
