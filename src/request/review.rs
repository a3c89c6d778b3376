//! Reads the payload of waPC's `validate`, and decides whether this policy examines the object.

use kubewarden_policy_sdk::request::{UserInfo, ValidationRequest};
use serde_json::Value;

use super::kind::{Kind, Operation};
use super::metadata::Metadata;
use crate::json::InvalidField;

/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";
/// The kind of the controller of a mirror Pod.
const NODE_KIND: &str = "Node";

/// A request that this policy examines, unless [`Request::is_untouched`] says otherwise.
pub(crate) struct Request<'r> {
    pub(crate) kind: Kind,
    /// What the request does to the object.
    pub(crate) operation: Operation,
    /// Whether the request creates the object.
    pub(crate) creates: bool,
    /// The user. An audit names none.
    user: &'r UserInfo,
    pub(crate) object: &'r Value,
    /// At UPDATE, the object that is stored.
    pub(crate) stored: &'r Value,
}

/// Reads the payload of waPC's `validate`.
///
/// # Errors
/// The payload is not what a Kubewarden host sends. The sentence doesn't quote serde, whose error
/// can show a value.
pub(crate) fn read(payload: &[u8]) -> Result<ValidationRequest<Value>, String> {
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
    pub(crate) fn of(review: &'r ValidationRequest<Value>) -> Option<Self> {
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
    pub(crate) fn is_untouched(&self, metadata: &Metadata<'_>) -> bool {
        (!self.creates && metadata.is_deleting)
            || match self.kind {
                Kind::Pod => self.is_mirror(metadata),
                _ => metadata.controller.is_some() || self.has_stored_template(),
            }
    }

    /// The metadata of the Pods that the object's pod template makes. None if it has none.
    ///
    /// # Errors
    /// A value of the metadata has a wrong shape.
    pub(crate) fn template_metadata(&self) -> Result<Option<Metadata<'r>>, InvalidField<'r>> {
        let template = self.kind.template(self.object);
        template
            .filter(|template| template.is_object())
            .map(Metadata::read)
            .transpose()
    }

    /// Whether the Pod is the mirror of a static Pod, made by a kubelet. Anybody can write the
    /// annotation of a mirror Pod, so the user must also be a kubelet. If the request names no
    /// user, as in an audit, the Pod's controller must be a `Node`.
    fn is_mirror(&self, metadata: &Metadata<'_>) -> bool {
        let is_of_node = self.user.username.is_empty() && metadata.controller == Some(NODE_KIND);
        metadata.is_mirror() && (self.user.groups.contains(NODES_GROUP) || is_of_node)
    }

    /// Whether the stored object has the same pod template.
    fn has_stored_template(&self) -> bool {
        let stored = self.kind.template(self.stored);
        !self.creates
            && stored.is_some_and(Value::is_object)
            && stored == self.kind.template(self.object)
    }
}
