//! Reads the payload of waPC's `validate`, and decides whether this policy examines the object.

use super::examined_object::{ExaminedObject, ObjectMetadata, StoredObject};
use super::request_type::{ObjectKind, RequestType};
use crate::document::{JsonNode, WrongValue};
use crate::pod_spec::PodSpec;

/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";
/// The kind of the controller of a mirror Pod.
const NODE_KIND: &str = "Node";

/// The object of a request that is not accepted untouched.
pub(crate) enum ExaminedOrMalformedObject<'a> {
    /// The object could be read. *Re-apply* and the rules may work on it.
    Examined(Box<ExaminedObject<'a>>),
    /// The object is missing, or it has a wrong shape. The text is the reason.
    Malformed(RequestType, String),
}

/// Reads the payload of waPC's `validate`: the object, and the settings in JSON. The settings are still a
/// text. None if the request is accepted, and its object is neither examined nor changed.
///
/// # Errors
/// The text is not a payload that Kubewarden sends. The error is a sentence for a person.
pub(crate) fn read_payload(
    payload: &str,
) -> Result<Option<(ExaminedOrMalformedObject<'_>, &str)>, String> {
    let Ok(payload) = JsonNode::read(payload) else {
        return Err("the request is not JSON".to_owned());
    };
    let request = payload.required("request");
    let request = request.and_then(|request| AdmissionRequest::read(&request));
    let request = request.map_err(|wrong| payload.sentence_about(&wrong, "the request"))?;
    let settings = payload.member("settings").ok().flatten();
    let settings = settings.map_or("null", |settings| settings.text());
    let object = request.and_then(|request| request.object());
    Ok(object.map(|object| (object, settings)))
}

/// The parts of an `AdmissionRequest` that this policy needs.
struct AdmissionRequest<'a> {
    kind: ObjectKind,
    request_type: RequestType,
    /// Whether a kubelet sent the request.
    is_from_node: bool,
    /// Whether the request names no user. The requests of an audit name no user.
    names_no_user: bool,
    object: Option<JsonNode<'a>>,
    old_object: Option<JsonNode<'a>>,
}

impl<'a> AdmissionRequest<'a> {
    /// Reads a request. None if this policy never examines requests with this kind, operation and
    /// subresource.
    fn read(request: &JsonNode<'a>) -> Result<Option<Self>, WrongValue<'a>> {
        let kind = request.required("kind")?;
        let group = kind.string("group")?.unwrap_or_default();
        let name =
            (kind.string("kind")?).ok_or_else(|| WrongValue::missing(kind.text(), "kind"))?;
        let operation = request.string("operation")?.unwrap_or_default();
        let sub_resource = request.string("subResource")?.unwrap_or_default();
        let (mut is_from_node, mut names_no_user) = (false, true);
        if let Some(user) = request.optional("userInfo")? {
            names_no_user = user.string("username")?.is_none_or(|name| name.is_empty());
            for group in user.list("groups")? {
                is_from_node |= group.as_string()? == NODES_GROUP;
            }
        }
        let kind = ObjectKind::of(&group, &name);
        let examined =
            kind.and_then(|kind| Some((kind, RequestType::of(kind, &operation, &sub_resource)?)));
        Ok(examined.map(|(kind, request_type)| Self {
            kind,
            request_type,
            is_from_node,
            names_no_user,
            object: request.get("object"),
            old_object: request.get("oldObject"),
        }))
    }

    /// The object, or None if the request is accepted untouched. Decides as the table at the start of
    /// docs/requests.md says, as far as the request alone decides. `validate.rs` applies the setting
    /// `templates`, and finds the changed images of a Pod UPDATE.
    fn object(&self) -> Option<ExaminedOrMalformedObject<'a>> {
        let reason = match &self.object {
            None => "object is missing".to_owned(),
            Some(object) => match self.examined_object(object) {
                Ok(examined) => {
                    return Some(ExaminedOrMalformedObject::Examined(Box::new(examined?)));
                }
                Err(wrong) => object.sentence_about(&wrong, "object"),
            },
        };
        // No rule examines a Job at UPDATE, so a malformed Job is accepted too.
        let is_examined = self.request_type != RequestType::JobUpdate;
        is_examined.then_some(ExaminedOrMalformedObject::Malformed(
            self.request_type,
            reason,
        ))
    }

    /// Reads the object. None if it is accepted without an examination, whatever its Pod spec contains:
    /// for example, this policy must not block the UPDATE of an object that is being deleted.
    fn examined_object(
        &self,
        object: &JsonNode<'a>,
    ) -> Result<Option<ExaminedObject<'a>>, WrongValue<'a>> {
        let (kind, request_type) = (self.kind, self.request_type);
        let metadata = ObjectMetadata::read(object)?;
        if self.passes(&metadata) {
            return Ok(None);
        }
        let stored = (self.old_object.clone()).filter(|_| !request_type.is_create());
        let examined = ExaminedObject {
            request_type,
            kind,
            names_no_user: self.names_no_user,
            node: object.clone(),
            metadata,
            pod: PodSpec::read(kind.pod_spec(object)?)?,
            stored: stored.and_then(|stored| StoredObject::read(stored, kind)),
            restored: Vec::new(),
        };
        let is_same = request_type == RequestType::TemplateUpdate && examined.has_stored_template();
        Ok((!is_same).then_some(examined))
    }

    /// Whether the object is accepted without an examination because of its metadata.
    fn passes(&self, metadata: &ObjectMetadata<'_>) -> bool {
        (!self.request_type.is_create() && metadata.is_deleting)
            || match self.kind {
                ObjectKind::Pod => self.is_mirror_pod(metadata),
                _ => metadata.has_controller(),
            }
    }

    /// Whether the Pod is the mirror of a static Pod, made by a kubelet. The annotation of a mirror Pod
    /// alone is not enough, because anybody can write it. A kubelet must also be the user of the
    /// request. If the request names no user, as in an audit, the Pod's controller must be a `Node`.
    fn is_mirror_pod(&self, metadata: &ObjectMetadata<'_>) -> bool {
        let is_owned_by_node = metadata.controller_kind.as_deref() == Some(NODE_KIND);
        metadata.is_mirror && (self.is_from_node || (self.names_no_user && is_owned_by_node))
    }
}
