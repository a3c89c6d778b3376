//! What a request is about: the kind of its object, and what happens to it.

use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Pod, PodTemplate, ReplicationController};

/// The kinds of objects that hold a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// v1 Pod
    Pod,
    /// v1 `PodTemplate`
    PodTemplate,
    /// batch/v1 `CronJob`
    CronJob,
    /// batch/v1 Job, whose template is immutable
    Job,
    /// apps/v1 Deployment, `StatefulSet`, `DaemonSet`, `ReplicaSet`, v1 `ReplicationController`
    Workload,
}

impl Kind {
    /// The group decides together with the kind: other groups have kinds of the same name.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        let is = |wanted: (&str, &str)| wanted == (group, kind);
        Some(if is(names_of::<Pod>()) {
            Self::Pod
        } else if is(names_of::<PodTemplate>()) {
            Self::PodTemplate
        } else if is(names_of::<Job>()) {
            Self::Job
        } else if is(names_of::<CronJob>()) {
            Self::CronJob
        } else if is(names_of::<Deployment>())
            || is(names_of::<StatefulSet>())
            || is(names_of::<DaemonSet>())
            || is(names_of::<ReplicaSet>())
            || is(names_of::<ReplicationController>())
        {
            Self::Workload
        } else {
            return None;
        })
    }

    /// The keys that lead from the object to its Pod spec.
    #[must_use]
    pub const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Pod => &["spec"],
            Self::PodTemplate => &["template", "spec"],
            Self::Job | Self::Workload => &["spec", "template", "spec"],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template", "spec"],
        }
    }
}

/// Group and kind of a resource.
const fn names_of<K: Resource>() -> (&'static str, &'static str) {
    (K::GROUP, K::KIND)
}

/// What a request does with its object, and so which rules run and what they may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A Pod is created: every rule.
    PodCreate,
    /// Images of a Pod change. Its pull policies are immutable, and its init containers have run.
    PodUpdate,
    /// Ephemeral containers are added to a Pod, through its subresource.
    EphemeralContainers,
    /// A workload is created.
    TemplateCreate,
    /// The pod template of a workload changes.
    TemplateUpdate,
    /// A Job changes, whose template is immutable: no rule, but it can be applied again.
    JobUpdate,
}

impl Event {
    /// What an operation on a kind, or on one of its subresources, is. None of the others
    /// concerns the policy.
    #[must_use]
    pub fn of(kind: Kind, operation: &str, sub_resource: &str) -> Option<Self> {
        Some(match (kind, operation, sub_resource) {
            (Kind::Pod, "CREATE", "") => Self::PodCreate,
            (Kind::Pod, "UPDATE", "") => Self::PodUpdate,
            (Kind::Pod, "UPDATE", "ephemeralcontainers") => Self::EphemeralContainers,
            (Kind::Job, "UPDATE", "") => Self::JobUpdate,
            (_, "CREATE", "") => Self::TemplateCreate,
            (_, "UPDATE", "") => Self::TemplateUpdate,
            _ => return None,
        })
    }

    /// The Pod spec is a template: Pods are made from it later.
    #[must_use]
    pub const fn is_template(self) -> bool {
        matches!(
            self,
            Self::TemplateCreate | Self::TemplateUpdate | Self::JobUpdate
        )
    }

    /// The object is new, so that its metadata may be annotated.
    #[must_use]
    pub const fn is_create(self) -> bool {
        matches!(self, Self::PodCreate | Self::TemplateCreate)
    }

    /// Image checks and the containers that they guard are both before their first start.
    #[must_use]
    pub const fn has_checks(self) -> bool {
        matches!(
            self,
            Self::PodCreate | Self::TemplateCreate | Self::TemplateUpdate
        )
    }

    /// Whether `imagePullPolicy` may be changed: it is immutable in a Pod that exists, and the
    /// API server answers 422 to a webhook that changes it.
    #[must_use]
    pub const fn may_change_policy(self) -> bool {
        !matches!(self, Self::PodUpdate | Self::JobUpdate)
    }
}
