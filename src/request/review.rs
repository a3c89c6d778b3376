//! Reads the payload of waPC's `validate`, and decides whether this policy examines the object.

use serde::Deserialize;
use serde_json::Value;

use super::kind::{Kind, Operation};
use super::metadata::Metadata;
use crate::json::Wrong;

/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";
/// The kind of the controller of a mirror Pod.
const NODE_KIND: &str = "Node";

/// The payload of waPC's `validate`.
///
/// The SDK's type for it can't read the requests of audits, which have `null` where it wants a user.
#[derive(Deserialize)]
pub(crate) struct Review {
    request: AdmissionRequest,
    /// The settings.
    #[serde(default)]
    pub(crate) settings: Value,
}

/// The parts of an `AdmissionRequest` of admission/v1 that this policy needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionRequest {
    kind: GroupKind,
    operation: Option<String>,
    sub_resource: Option<String>,
    user_info: Option<UserInfo>,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Deserialize)]
struct GroupKind {
    group: Option<String>,
    kind: String,
}

#[derive(Deserialize)]
struct UserInfo {
    username: Option<String>,
    groups: Option<Vec<String>>,
}

/// A request that this policy examines, unless the metadata of its object says otherwise.
pub(crate) struct Request<'r> {
    /// The kind of the object.
    pub(crate) kind: Kind,
    /// What the request does to the object.
    pub(crate) operation: Operation,
    /// Whether the request creates the object.
    pub(crate) creates: bool,
    /// Whether the request names no user. Audits send such requests.
    pub(crate) names_no_user: bool,
    is_from_node: bool,
    pub(crate) object: &'r Value,
    /// At UPDATE, the object that is stored.
    pub(crate) stored: &'r Value,
}

impl Review {
    /// Reads the payload.
    ///
    /// # Errors
    /// The payload is not what a Kubewarden host sends. The sentence is fixed, because serde's would show a value.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, String> {
        // Otherwise serde_json would check each string on its own, which takes three times as long.
        let payload =
            std::str::from_utf8(payload).map_err(|_| "the request is not UTF-8".to_owned())?;
        serde_json::from_str(payload).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!(
                "the request can't be read at line {line}, column {column}: send an AdmissionRequest of admission/v1 as \
                 request, and the policy's settings as settings"
            )
        })
    }

    /// The request. None if this policy never examines requests with this kind, operation and subresource.
    pub(crate) fn request(&self) -> Option<Request<'_>> {
        let request = &self.request;
        let operation = request.operation.as_deref().unwrap_or_default();
        let sub_resource = request.sub_resource.as_deref().unwrap_or_default();
        let kind = Kind::of(
            request.kind.group.as_deref().unwrap_or_default(),
            &request.kind.kind,
        )?;
        let user = request.user_info.as_ref();
        let name = user.and_then(|user| user.username.as_deref());
        let mut groups = user
            .and_then(|user| user.groups.as_ref())
            .into_iter()
            .flatten();
        Some(Request {
            kind,
            operation: Operation::of(kind, operation, sub_resource)?,
            creates: operation == "CREATE",
            names_no_user: name.is_none_or(str::is_empty),
            is_from_node: groups.any(|group| group == NODES_GROUP),
            object: &request.object,
            stored: &request.old_object,
        })
    }

    /// Takes the object out of the request.
    pub(crate) fn take_object(&mut self) -> Value {
        self.request.object.take()
    }
}

impl<'r> Request<'r> {
    /// The metadata of the Pod, or of the Pods that a pod template makes. None if the object is accepted untouched, whatever
    /// its Pod spec contains.
    ///
    /// # Errors
    /// A value of the metadata has a wrong shape.
    pub(crate) fn metadata(&self) -> Result<Option<Metadata<'r>>, Wrong<'r>> {
        let metadata = Metadata::read(self.object)?;
        let is_untouched = (!self.creates && metadata.is_deleting)
            || match self.kind {
                Kind::Pod => self.is_mirror(&metadata),
                _ => metadata.controller.is_some() || self.has_stored_template(),
            };
        if is_untouched {
            return Ok(None);
        }
        let template = self
            .kind
            .template(self.object)
            .filter(|template| template.is_object());
        template.map_or(Ok(metadata), Metadata::read).map(Some)
    }

    /// Whether the Pod is the mirror of a static Pod, made by a kubelet. Anybody can write the annotation of a mirror
    /// Pod, so a kubelet must also be the user. If the request names no user, as in an audit, the Pod's controller must
    /// be a `Node`.
    fn is_mirror(&self, metadata: &Metadata<'_>) -> bool {
        let is_of_node = self.names_no_user && metadata.controller == Some(NODE_KIND);
        metadata.is_mirror() && (self.is_from_node || is_of_node)
    }

    /// Whether the stored object has the same pod template.
    fn has_stored_template(&self) -> bool {
        let stored = self.kind.template(self.stored);
        !self.creates && stored.is_some() && stored == self.kind.template(self.object)
    }
}
