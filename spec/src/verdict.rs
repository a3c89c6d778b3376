//! What comes out: the verdict, and what it is made of.

use serde_json::{Value, json};

/// What the policy has to answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Verdict {
    /// Whether the request is accepted.
    pub allowed: bool,
    /// The object that goes out, where it differs from the one that came in; without what this run
    /// adds to the record.
    pub object: Option<Value>,
    /// What the annotation `consistent-pull-policy/changes` has to hold, where it is written.
    pub record: Option<Record>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The changes.
    pub changes: Vec<Change>,
    /// The images that the registry was asked for, normalised, in order.
    pub lookups: Vec<String>,
    /// The images at a digest whose manifests were asked for, in order.
    pub manifests: Vec<String>,
    /// The lookups that failed or were not made.
    pub failed: Vec<FailedLookup>,
    /// The path of what has not the shape that Kubernetes gives it.
    pub broken: Option<String>,
    /// Whether a person has to be warned of something.
    pub warned: bool,
    /// Whether no warning line may be written: "a pod template gets no warning line for what the operator
    /// asked for everywhere".
    pub is_silent: bool,
    /// The code of a rejection.
    pub code: Option<u16>,
    /// Whether this specification can't tell the answer, because an addition is nearly as large as it may
    /// be.
    pub is_undecided: bool,
}

/// The record: "new changes first, then earlier ones".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The entries of this run.
    pub new: Vec<Change>,
    /// The entries that were there.
    pub earlier: Vec<Value>,
}

/// "one thing wrong: its rule's id, the field's path, the container, the image, what is there,
/// what should be there, and the change that repairs it where there is one"
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The field, in the object that came in.
    pub path: String,
    /// The container, or the volume.
    pub container: String,
    /// Its image as it came in.
    pub image: String,
    /// What is there.
    pub found: Value,
    /// What should be there.
    pub expected: Value,
    /// The place it is about.
    pub place: usize,
    /// What repairs it.
    pub repair: Repair,
    /// What it does to the request where it is not repaired.
    pub weight: Weight,
    /// Whether a registry's momentary answer is the reason, so that a later request may be accepted.
    pub is_momentary: bool,
}

/// What becomes of a finding in mode `Fix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing can be done.
    None,
    /// The policy of a place gets another value.
    PullPolicy(usize),
    /// The image of a place gets its digest.
    Image(usize),
    /// A check is added.
    Addition,
}

/// Whether a finding can reject a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It can.
    Rejects,
    /// It is told and no more.
    Warns,
}

/// One field that came out different, or one thing added or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The field in the object that goes out; of a removed check, in the one that came in.
    pub path: String,
    /// The container, or the volume.
    pub container: String,
    /// What was there.
    pub from: Value,
    /// What is there now.
    pub to: Value,
    /// The rule that changed it last.
    pub rule: &'static str,
}

impl Change {
    /// As it stands in the annotations.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "path": self.path,
            "container": self.container,
            "from": self.from,
            "to": self.to,
            "rule": self.rule,
        })
    }
}

/// A lookup without a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedLookup {
    /// The image, normalised.
    pub image: String,
    /// Why there is none.
    pub failure: Failure,
    /// Whether the registry was asked.
    pub asked: bool,
    /// What was done: `Reject`, `KeepTag` or `UseCached`.
    pub action: String,
}

/// The classes of failures, and their settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// "the tag or repository does not exist"
    NotFound,
    /// "401 or 403"
    Denied,
    /// "429"
    RateLimited,
    /// "no connection, DNS, TLS, time-out, 5xx"
    Unreachable,
    /// "any other answer"
    Unknown,
    /// "A host that refuses"
    NotGranted,
}

impl Failure {
    /// As it stands in the annotation `lookups`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "notFound",
            Self::Denied => "denied",
            Self::RateLimited => "rateLimited",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
        }
    }
}
