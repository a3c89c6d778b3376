//! The kinds of objects that hold a Pod spec, and the operations that this policy examines.

use serde_json::Value;

use crate::json::{InvalidField, member};

/// A kind of object that holds a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// v1 Pod
    Pod,
    /// v1 `PodTemplate`
    PodTemplate,
    /// batch/v1 `CronJob`
    CronJob,
    /// batch/v1 Job
    Job,
    /// apps/v1 Deployment, `StatefulSet`, `DaemonSet`, `ReplicaSet`; v1 `ReplicationController`
    Workload,
}

impl Kind {
    /// The kind with this group and this name. None for any other kind. The group counts, because
    /// other groups have kinds of the same name.
    pub(super) fn of(group: &str, kind: &str) -> Option<Self> {
        Some(match (group, kind) {
            ("", "Pod") => Self::Pod,
            ("", "PodTemplate") => Self::PodTemplate,
            ("batch", "CronJob") => Self::CronJob,
            ("batch", "Job") => Self::Job,
            ("", "ReplicationController")
            | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet") => Self::Workload,
            _ => return None,
        })
    }

    /// The path from the object to its Pod spec.
    pub(crate) const fn spec_path(self) -> &'static str {
        match self {
            Self::Pod => "spec",
            Self::PodTemplate => "template.spec",
            Self::Workload | Self::Job => "spec.template.spec",
            Self::CronJob => "spec.jobTemplate.spec.template.spec",
        }
    }

    /// The Pod spec of an object.
    ///
    /// # Errors
    /// A value on the path to the Pod spec is missing or is no object.
    pub(crate) fn spec(self, object: &Value) -> Result<&Value, InvalidField<'_>> {
        let mut value = object;
        for key in self.spec_path().split('.') {
            value = member(value, key)?.ok_or(InvalidField::missing(value, key))?;
        }
        Ok(value)
    }

    /// The object's pod template. None for a Pod, or if it is missing.
    pub(super) fn template(self, object: &Value) -> Option<&Value> {
        let (path, _) = self.spec_path().rsplit_once('.')?;
        path.split('.')
            .try_fold(object, |value, key| value.get(key))
    }
}

/// What a request does to which object. It decides which rules run, and which fields they may
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A Pod is created, or an audit sends an existing Pod. Every rule runs.
    PodCreate,
    /// A Pod changes. Its pull policies are immutable, and its init containers may have run.
    PodUpdate,
    /// Ephemeral containers are added to a Pod, through the subresource `ephemeralcontainers`.
    EphemeralUpdate,
    /// An object with a pod template is created or changes. The answer says what would happen to
    /// its Pods.
    Template,
}

impl Operation {
    /// The operation on a kind or on one of its subresources. None if this policy doesn't examine
    /// such requests.
    pub(super) fn of(kind: Kind, operation: &str, sub_resource: &str) -> Option<Self> {
        Some(match (kind, operation, sub_resource) {
            (Kind::Pod, "CREATE", "") => Self::PodCreate,
            (Kind::Pod, "UPDATE", "") => Self::PodUpdate,
            (Kind::Pod, "UPDATE", "ephemeralcontainers") => Self::EphemeralUpdate,
            // The images and pull policies of a Job can't change. Kueue suspends a Job and then
            // restores its node selector: if this second update were rejected, Kueue would never
            // free the quota.
            (Kind::Pod, ..) | (Kind::Job, "UPDATE", _) => return None,
            (_, "CREATE" | "UPDATE", "") => Self::Template,
            _ => return None,
        })
    }

    /// Whether the API server accepts another pull policy in a place that the rules examine.
    pub(crate) const fn may_set_policies(self) -> bool {
        !matches!(self, Self::PodUpdate)
    }

    /// Whether the rules treat the Pod as not started. An audited Pod counts too.
    pub(crate) const fn is_before_start(self) -> bool {
        matches!(self, Self::PodCreate | Self::Template)
    }
}
