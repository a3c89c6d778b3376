//! The verdict of the specification, and its parts.

use serde_json::{Value, json};

/// The answer that the specification demands of the module.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Verdict {
    /// Whether the request is accepted.
    pub allowed: bool,
    /// The returned object, without the new entries of the record. `None` if it equals the
    /// request's object.
    pub object: Option<Value>,
    /// The entries of the annotation `consistent-pull-policy/changes`. `None` if this run doesn't
    /// write it.
    pub record: Option<Record>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The changes.
    pub changes: Vec<Change>,
    /// The normalised images of the lookups, in order.
    pub lookups: Vec<String>,
    /// The images whose manifests were asked for, each with its digest, in order.
    pub manifests: Vec<String>,
    /// The lookups that failed or were not made.
    pub failed: Vec<FailedLookup>,
    /// The path of a field that has another type than in the Kubernetes API.
    pub broken: Option<String>,
    /// Whether there must be a warning line.
    pub warned: bool,
    /// Whether there must be no warning line. A pod template gets none for changes that the
    /// operator's settings ask for in all Pods.
    pub is_silent: bool,
    /// The code of a rejection.
    pub code: Option<u16>,
    /// Whether the size of an addition is too near to its limit. Then this specification can't tell
    /// the answer.
    pub is_undecided: bool,
}

/// The record. New changes come first, then earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The entries of this run.
    pub new: Vec<Change>,
    /// The entries of the record in the request.
    pub earlier: Vec<Value>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The path of the field in the request's object.
    pub path: String,
    /// The container, or the volume.
    pub container: String,
    /// The image in the request.
    pub image: String,
    /// The value in the request.
    pub found: Value,
    /// The value that the rule demands.
    pub expected: Value,
    /// The index of the place in the specification's list of places.
    pub place: usize,
    /// The change that corrects the finding.
    pub repair: Repair,
    /// The effect on the request, if the finding is not repaired.
    pub weight: Weight,
    /// Whether the reason is a momentary answer of a registry, so that a later request may be
    /// accepted.
    pub is_momentary: bool,
}

/// The repair of a finding in mode `Fix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// There is no repair.
    None,
    /// The place gets another pull policy.
    PullPolicy(usize),
    /// The image of a place gets its digest.
    Image(usize),
    /// A check is added.
    Addition,
}

/// Whether a finding can reject a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The finding can reject a request.
    Rejects,
    /// The finding only leads to a warning.
    Warns,
}

/// A field that this policy changed, or a check that it added or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The path in the returned object. For a removed check it is the path in the request's object.
    pub path: String,
    /// The container, or the volume.
    pub container: String,
    /// The value in the request.
    pub from: Value,
    /// The value in the returned object.
    pub to: Value,
    /// The rule that made the last change.
    pub rule: &'static str,
}

impl Change {
    /// Returns the change in the form of the annotations.
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
    /// The reason why there is no digest.
    pub failure: Failure,
    /// Whether the registry was asked.
    pub asked: bool,
    /// The effective setting for this failure: `Reject`, `KeepTag` or `UseCached`.
    pub action: String,
}

/// The classes of failed lookups. Most classes have a setting `on…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The tag or the repository does not exist.
    NotFound,
    /// The registry answered 401 or 403.
    Denied,
    /// The registry answered 429.
    RateLimited,
    /// The registry was not reached, or it answered 5xx. DNS, TLS and time-out errors belong to
    /// this class.
    Unreachable,
    /// Any other answer.
    Unknown,
    /// The host refused the lookup, because this policy has no access to this capability.
    NotGranted,
}

impl Failure {
    /// The name of the class in the annotation `lookups`.
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
