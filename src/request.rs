//! The admission request: what happens to which object, and whether this policy examines it.

use kubewarden_policy_sdk::request::{UserInfo, ValidationRequest};
use serde_json::{Map, Value};

use crate::json::{self, InvalidField};

/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";
/// The kind of the controller of a mirror Pod.
const NODE_KIND: &str = "Node";

/// A request that this policy examines, unless [`Request::is_untouched`] says otherwise.
pub struct Request<'r> {
    pub kind: Kind,
    /// What the request does to the object.
    pub operation: Operation,
    /// Whether the request creates the object.
    pub creates: bool,
    /// The user. An audit names none.
    user: &'r UserInfo,
    pub object: &'r Value,
    /// At UPDATE, the object that is stored.
    pub stored: &'r Value,
}

/// Reads the payload of waPC's `validate`.
///
/// # Errors
/// The payload is not what a Kubewarden host sends. The sentence doesn't quote serde, whose error
/// can show a value.
pub fn read(payload: &[u8]) -> Result<ValidationRequest<Value>, String> {
    // The bytes are checked once here. `from_slice` would check each string, which takes three
    // times as long.
    let payload =
        std::str::from_utf8(payload).map_err(|_| "the request is not UTF-8".to_owned())?;
    serde_json::from_str(payload).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!(
            "the request can't be read at line {line}, column {column}: send an AdmissionRequest \
             of admission/v1 as request, and the policy's settings as settings"
        )
    })
}

impl<'r> Request<'r> {
    /// The request. None if this policy never examines requests with this kind, operation and
    /// subresource.
    pub fn of(review: &'r ValidationRequest<Value>) -> Option<Self> {
        let request = &review.request;
        let kind = Kind::of(&request.kind.group, &request.kind.kind)?;
        Some(Self {
            kind,
            operation: Operation::of(kind, &request.operation, &request.sub_resource)?,
            creates: request.operation == "CREATE",
            user: &request.user_info,
            object: &request.object,
            stored: &request.old_object,
        })
    }

    /// Whether the object is accepted untouched, whatever its Pod spec contains.
    pub fn is_untouched(&self, metadata: &Metadata) -> bool {
        (!self.creates && metadata.is_deleting)
            || match self.kind {
                Kind::Pod => self.is_mirror(metadata),
                _ => metadata.controller.is_some() || self.has_stored_template(),
            }
    }

    /// Whether the Pod is the mirror of a static Pod, made by a kubelet. Anybody can write the
    /// annotation of a mirror Pod, so the user must also be a kubelet. If the request names no
    /// user, as in an audit, the Pod's controller must be a `Node`.
    fn is_mirror(&self, metadata: &Metadata) -> bool {
        let is_of_node = self.user.username.is_empty() && metadata.controller == Some(NODE_KIND);
        let has_annotation = |map: &Map<String, Value>| map.contains_key(MIRROR_ANNOTATION);
        metadata.annotations.is_some_and(has_annotation)
            && (self.user.groups.contains(NODES_GROUP) || is_of_node)
    }

    /// Whether the stored object has the same pod template.
    fn has_stored_template(&self) -> bool {
        let template = |object| self.kind.pod(object).ok();
        let stored = template(self.stored);
        !self.creates && stored.is_some_and(Value::is_object) && stored == template(self.object)
    }
}

/// A kind of object that holds a Pod spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    fn of(group: &str, kind: &str) -> Option<Self> {
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
    pub const fn spec_path(self) -> &'static str {
        match self {
            Self::Pod => "spec",
            Self::PodTemplate => "template.spec",
            Self::Workload | Self::Job => "spec.template.spec",
            Self::CronJob => "spec.jobTemplate.spec.template.spec",
        }
    }

    /// The pod template of an object, or the object itself if it is a Pod.
    pub fn pod(self, object: &Value) -> Result<&Value, InvalidField<'_>> {
        let Some((path, _)) = self.spec_path().rsplit_once('.') else {
            return Ok(object);
        };
        path.split('.').try_fold(object, json::required)
    }
}

/// What a request does to which object. It decides which rules run, and which fields they may
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A Pod is created, or an audit sends an existing Pod. Every rule runs, and no stored image
    /// is restored.
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
    fn of(kind: Kind, operation: &str, sub_resource: &str) -> Option<Self> {
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
    pub const fn may_set_policies(self) -> bool {
        !matches!(self, Self::PodUpdate)
    }

    /// Whether the rules treat the Pod as not started. An audited Pod counts too.
    pub const fn is_before_start(self) -> bool {
        matches!(self, Self::PodCreate | Self::Template)
    }
}

/// With this annotation, the kubelet marks the mirror Pods of its static Pods.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// What this policy reads of an object's metadata.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'o> {
    /// The annotations. None if the object has none.
    pub annotations: Option<&'o Map<String, Value>>,
    /// The kind of the object's controller. None if the object has no controller.
    controller: Option<&'o str>,
    is_deleting: bool,
}

impl<'o> Metadata<'o> {
    /// Reads the metadata of an object.
    pub fn read(object: &'o Value) -> Result<Self, InvalidField<'o>> {
        let Some(metadata) = json::member(object, "metadata")? else {
            return Ok(Self::default());
        };
        let mut controller = None;
        for owner in json::list(metadata, "ownerReferences")? {
            let kind = json::string(owner, "kind")?.unwrap_or_default();
            let is_controller = json::typed(owner, "controller", "a boolean", Value::as_bool)?;
            if is_controller == Some(true) {
                controller.get_or_insert(kind);
            }
        }
        Ok(Self {
            annotations: json::typed(metadata, "annotations", "an object", Value::as_object)?,
            controller,
            is_deleting: json::member(metadata, "deletionTimestamp")?.is_some(),
        })
    }

    /// An annotation. None if it is missing or no string.
    pub fn annotation(&self, key: &str) -> Option<&'o str> {
        self.annotations?.get(key)?.as_str()
    }
}
