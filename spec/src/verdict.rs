//! The verdict of the specification, and its parts.

use serde_json::Value;

/// The answer that the specification demands of the module.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Verdict {
    /// Whether the request is accepted.
    pub allowed: bool,
    /// The returned object, with the record of the request. `None` if the request is rejected, or if
    /// this object equals the request's object.
    pub object: Option<Value>,
    /// The entries of the record: those of `changes`, and then those of the record in the request. `None`
    /// if this run doesn't write the record.
    pub record: Option<Vec<Value>>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The fields that this policy changed and the checks that it added, in the form of the annotations:
    /// `path`, `container`, `from`, `to` and `rule`. The path is one of the returned object.
    pub changes: Vec<Value>,
    /// The normalised images of the lookups, in the order of the lookups.
    pub lookups: Vec<String>,
    /// The images whose manifests were requested, each with its digest, in the order of the requests.
    pub manifests: Vec<String>,
    /// The lookups that failed or were not made, in the form of the annotations: `image`, `failure`,
    /// `asked` and `action`.
    pub failed: Vec<Value>,
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
    /// The index of the place in the specification's list of places.
    pub place: usize,
    /// The change that corrects the finding.
    pub repair: Repair,
    /// The effect on the request, if the finding is not repaired.
    pub weight: Weight,
}

/// The repair of a finding in mode `Fix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// There is no repair.
    None,
    /// The place of the finding gets another pull policy.
    PullPolicy,
    /// The image of the place gets its digest.
    Image,
    /// A check is added.
    Addition,
}

/// Whether a finding can reject a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The finding can reject a request.
    Rejects,
    /// The finding can reject a request, and the reason may be temporary: for example an unreachable
    /// registry. A later request may be accepted.
    RejectsForNow,
    /// The finding can't reject a request. It only leads to a warning.
    Warns,
}
