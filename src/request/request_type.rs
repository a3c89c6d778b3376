//! The type of a request: the kind of its object, and the operation.

use crate::document::{JsonNode, WrongValue};

/// The kinds of objects that hold a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// v1 Pod
    Pod,
    /// v1 `PodTemplate`
    PodTemplate,
    /// batch/v1 `CronJob`
    CronJob,
    /// batch/v1 Job, whose pod template is immutable
    Job,
    /// apps/v1 Deployment, `StatefulSet`, `DaemonSet`, `ReplicaSet`, v1 `ReplicationController`
    Workload,
}

impl ObjectKind {
    /// The kind with this group and this name. `None` for any other kind. The group is compared
    /// too, because other groups have kinds of the same name.
    pub(crate) fn of(group: &str, kind: &str) -> Option<Self> {
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
            Self::Job | Self::Workload => "spec.template.spec",
            Self::CronJob => "spec.jobTemplate.spec.template.spec",
        }
    }

    /// The Pod spec of an object.
    ///
    /// # Errors
    /// A value on the path to the Pod spec is missing or has a wrong shape.
    pub(crate) fn pod_spec<'a>(
        self,
        object: &JsonNode<'a>,
    ) -> Result<JsonNode<'a>, WrongValue<'a>> {
        at(object, self.spec_path())
    }

    /// The pod template of an object. For a Pod, this is the Pod itself.
    ///
    /// # Errors
    /// A value on the path to the pod template is missing or has a wrong shape.
    pub(crate) fn pod_template<'a>(
        self,
        object: &JsonNode<'a>,
    ) -> Result<JsonNode<'a>, WrongValue<'a>> {
        match self.spec_path().rsplit_once('.') {
            Some((template, _)) => at(object, template),
            None => Ok(object.clone()),
        }
    }
}

fn at<'a>(object: &JsonNode<'a>, path: &'static str) -> Result<JsonNode<'a>, WrongValue<'a>> {
    let mut keys = path.split('.');
    keys.try_fold(object.clone(), |value, key| value.required(key))
}

/// The type of a request. It decides which rules run, and which fields they may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestType {
    /// A Pod is created, or an audit sends an existing Pod. Every rule runs.
    PodCreate,
    /// A Pod changes. Its pull policies are immutable, and its init containers may have run.
    PodUpdate,
    /// Ephemeral containers are added to a Pod, through the subresource `ephemeralcontainers`.
    EphemeralContainersUpdate,
    /// An object with a pod template is created.
    TemplateCreate,
    /// An object with a pod template changes. (For a Job, see [`JobUpdate`](Self::JobUpdate).)
    TemplateUpdate,
    /// A Job changes. Its pod template is immutable, so no rule runs, but *re-apply* does.
    JobUpdate,
}

impl RequestType {
    /// The type of an operation on a kind or on one of its subresources. `None` if this policy
    /// doesn't examine requests of this type.
    pub(crate) fn of(kind: ObjectKind, operation: &str, sub_resource: &str) -> Option<Self> {
        Some(match (kind, operation, sub_resource) {
            (ObjectKind::Pod, "CREATE", "") => Self::PodCreate,
            (ObjectKind::Pod, "UPDATE", "") => Self::PodUpdate,
            (ObjectKind::Pod, "UPDATE", "ephemeralcontainers") => Self::EphemeralContainersUpdate,
            (ObjectKind::Job, "UPDATE", "") => Self::JobUpdate,
            (_, "CREATE", "") => Self::TemplateCreate,
            (_, "UPDATE", "") => Self::TemplateUpdate,
            _ => return None,
        })
    }

    /// Whether the Pod spec is a pod template.
    pub(crate) const fn is_template(self) -> bool {
        matches!(
            self,
            Self::TemplateCreate | Self::TemplateUpdate | Self::JobUpdate
        )
    }

    /// Whether the request creates the object. Only a created object gets the record of changes.
    pub(crate) const fn is_create(self) -> bool {
        matches!(self, Self::PodCreate | Self::TemplateCreate)
    }

    /// Whether no container of the Pod spec has started yet. (An audit sends an existing Pod as if it
    /// were being created.)
    pub(crate) const fn is_before_start(self) -> bool {
        matches!(
            self,
            Self::PodCreate | Self::TemplateCreate | Self::TemplateUpdate
        )
    }

    /// Whether this policy may change `imagePullPolicy`. In an existing Job, and in the existing
    /// containers of a Pod, the field is immutable: the API server would answer 422.
    pub(crate) const fn may_change_pull_policy(self) -> bool {
        !matches!(self, Self::PodUpdate | Self::JobUpdate)
    }
}
