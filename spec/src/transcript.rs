//! Replays the evaluations in the transcripts that `make e2e-tests` writes. Each line of a transcript is
//! one evaluation by a host: a request, the settings, the host calls and the module's answer. The
//! module's answer must agree with the verdict of the specification.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::compare::{Observed, differences};
use crate::generate::{Answers, Case, Index};
use crate::{Failure, Registry, Settings, validate};

/// One evaluation from the transcript.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The `AdmissionRequest` that the module got.
    pub request: Value,
    /// The settings.
    pub settings: Value,
    /// The host calls, each with its answer or its error.
    pub calls: Vec<RecordedCall>,
    /// The reason why the settings were refused, or `None` if they were accepted. If they were refused,
    /// there is no answer.
    pub refusal: Option<String>,
    /// The answer, in the form of waPC's payload.
    pub answer: Value,
}

/// A host call, and the host's answer to it.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// The operation: `v1/manifest_digest` or `v1/oci_manifest`.
    pub operation: String,
    /// The image in the payload of the call.
    pub image: String,
    /// The payload of the answer, or the text of the error.
    pub answer: Result<Value, String>,
}

impl RecordedCall {
    /// Reads a call from the transcript. The call's keys are `namespace`, `operation`, `payload`,
    /// `answer` and `error`.
    #[must_use]
    pub fn read(call: &Value) -> Self {
        let text = |key: &str| call[key].as_str().unwrap_or_default();
        let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
        let image: Value = json(text("payload"));
        Self {
            operation: text("operation").to_owned(),
            image: image.as_str().unwrap_or_default().to_owned(),
            answer: match call["error"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => Ok(json(text("answer"))),
            },
        }
    }
}

/// Returns the differences between an evaluation and the specification, one line each.
#[must_use]
pub fn replay(evaluation: &Evaluation) -> Vec<String> {
    let contradictions = Settings(&evaluation.settings).contradictions();
    if evaluation.refusal.is_some() {
        // The module may have refused a value of a wrong type. The specification doesn't know the
        // types of the settings, so it can't check a refusal.
        return Vec::new();
    }
    if !contradictions.is_empty() {
        return vec![format!(
            "settings: specified as refused, {contradictions:?}"
        )];
    }
    let mut registry = Recorded(&evaluation.calls);
    let verdict = validate(&evaluation.request, &evaluation.settings, &mut registry);
    let case = Case {
        request: evaluation.request.clone(),
        settings: evaluation.settings.clone(),
        answers: Answers::default(),
    };
    let calls = evaluation.calls.iter();
    let observed = Observed {
        answer: evaluation.answer.clone(),
        calls: calls
            .map(|call| (call.operation.clone(), call.image.clone()))
            .collect(),
    };
    differences(&case, &verdict, &observed)
}

/// Registries that repeat the recorded answers. If the specification makes a lookup that the module
/// didn't make, the lookup fails with `Unknown`. The comparison of the lookups then reports this lookup.
struct Recorded<'e>(&'e [RecordedCall]);

impl Recorded<'_> {
    fn ask(&self, operation: &str, image: &str) -> Result<Value, Failure> {
        let mut calls = self.0.iter();
        let call = calls.find(|call| call.operation == operation && call.image == image);
        match call.map(|call| &call.answer) {
            Some(Ok(answer)) => Ok(answer.clone()),
            Some(Err(text)) => Err(failure_of(text)),
            None => Err(Failure::Unknown),
        }
    }
}

impl Registry for Recorded<'_> {
    fn manifest_digest(&mut self, image: &str) -> Result<String, Failure> {
        let answer = self.ask("v1/manifest_digest", image)?;
        Ok(answer["digest"].as_str().unwrap_or_default().to_owned())
    }

    fn platforms(&mut self, image: &str) -> Index {
        let answer = self.ask("v1/oci_manifest", image)?;
        let entries = answer["manifests"].as_array();
        Ok(entries.map(|entries| {
            let platforms = entries.iter().map(|entry| &entry["platform"]);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            platforms
                .filter(|platform| platform.is_object())
                .map(|platform| (text(&platform["os"]), text(&platform["architecture"])))
                .collect()
        }))
    }
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

static MESSAGES: LazyLock<[(Regex, Failure); 4]> =
    LazyLock::new(|| {
        [
        ("rate limit|too many requests|toomanyrequests", Failure::RateLimited),
        (
            "(manifest|name) unknown|not known to registry|not found|does not exist|was deleted",
            Failure::NotFound,
        ),
        (
            "not authorized|denied|unauthorized|authentication required|forbidden",
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
