//! The verdict of the specification, and its parts.

use serde_json::{Value, json};

/// The answer that the specification demands of the module.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Verdict {
    /// Whether the request is accepted.
    pub allowed: bool,
    /// The returned object, without the new entries of the record. `None` if the request is
    /// rejected, or if this object equals the request's object.
    pub object: Option<Value>,
    /// The entries of the annotation `consistent-pull-policy/changes`. `None` if this run doesn't
    /// write the annotation.
    pub record: Option<Record>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The changes.
    pub changes: Vec<Change>,
    /// The normalised images of the lookups, in the order of the lookups.
    pub lookups: Vec<String>,
    /// The images whose manifests were requested, each with its digest, in the order of the requests.
    pub manifests: Vec<String>,
    /// The lookups that failed or were not made.
    pub failed: Vec<FailedLookup>,
    /// The path of a field that doesn't have the shape of the Kubernetes API, if there is one.
    pub broken: Option<String>,
    /// Whether the answer must have at least one warning.
    pub warned: bool,
    /// Whether the answer must have no warning. In mode `Fix`, a pod template gets no warning for
    /// changes that the operator's settings ask for in all Pods.
    pub is_silent: bool,
    /// The status code of a rejection. `None` if the request is accepted.
    pub code: Option<u16>,
    /// Whether the size of the added checks is so near to its limit of 1 MiB that this specification
    /// can't say whether the additions are allowed.
    pub is_undecided: bool,
}

/// The record. The changes of this run come first, then the entries of an earlier record.
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
    /// The name of the container or volume.
    pub container: String,
    /// The image in the request. A finding of *stuck-pull* may list several images.
    pub image: String,
    /// The value that the rule found. Null for a missing check.
    pub found: Value,
    /// The value that the rule demands. Null if no value is known to be right.
    pub expected: Value,
    /// The index of the place in the specification's list of places.
    pub place: usize,
    /// The change that corrects the finding.
    pub repair: Repair,
    /// The effect on the request, if the finding is not repaired.
    pub weight: Weight,
    /// Whether the reason may be temporary, for example an unreachable registry. If so, a later request
    /// may be accepted.
    pub is_momentary: bool,
}

/// The repair of a finding in mode `Fix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// There is no repair.
    None,
    /// The place with this index gets another pull policy.
    PullPolicy(usize),
    /// The image of the place with this index gets its digest.
    Image(usize),
    /// A check is added.
    Addition,
}

/// Whether a finding can reject a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The finding can reject a request.
    Rejects,
    /// The finding can't reject a request. It only leads to a warning.
    Warns,
}

/// A field that this policy changed, or a check that it added or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The path in the returned object. For a removed check it is the path in the request's object.
    pub path: String,
    /// The name of the container or volume.
    pub container: String,
    /// The value in the request.
    pub from: Value,
    /// The value in the returned object.
    pub to: Value,
    /// The rule that last changed the field, or that added or removed the check.
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

/// A lookup that failed, or that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedLookup {
    /// The image, normalised.
    pub image: String,
    /// The class of the failure.
    pub failure: Failure,
    /// Whether the lookup was made.
    pub asked: bool,
    /// The effective setting for this failure: `Reject`, `KeepTag` or `UseCached`.
    pub action: String,
}

/// The classes of failed lookups. Each class except `NotGranted` has its own setting `on…`.
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
    /// Any other error or answer.
    Unknown,
    /// The host refused the lookup, because this policy has no access to the host capability.
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
