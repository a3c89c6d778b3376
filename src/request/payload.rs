//! Reads the payload of waPC's `validate`, and decides whether this policy examines the object.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::examined_object::{ExaminedObject, StoredObject};
use super::object_reader::{KubernetesObjectReader, Metadata};
use super::request_type::{ObjectKind, RequestType};
use super::status::PodStatus;
use crate::json::{self, JsonString, Member, Members, ReadError, value_of};

/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";
/// The kind of the controller of a mirror Pod.
const NODE_KIND: &str = "Node";

/// What this policy does with a request. This is decided before any rule runs.
#[derive(Clone, Debug)]
pub enum RequestHandling<'a> {
    /// The request is accepted, and the object is neither examined nor changed.
    Untouched,
    /// The object could be read. *Re-apply* and the rules may work on it.
    Examined(Box<ExaminedObject<'a>>),
    /// The object is missing, or it has a wrong shape. The text is the reason.
    Malformed(RequestType, String),
}

/// The payload of waPC's `validate`. The settings are still a text, because an `Untouched` request
/// doesn't need them.
pub struct ValidatePayload<'a> {
    /// What this policy does with the request.
    pub scope: RequestHandling<'a>,
    /// The settings, in JSON.
    pub settings: &'a str,
}

impl<'a> ValidatePayload<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// The text is not a payload that Kubewarden sends.
    pub fn read(payload: &'a str) -> Result<Self, ReadError> {
        let mut parts = PayloadReader::default();
        if json::read(payload, "the request", &mut parts).is_ok() {
            return Ok(Self {
                settings: parts.settings(),
                scope: parts.request.scope(payload),
            });
        }
        // If reading fails, the cause is usually a malformed object. The request is read again without
        // the object, because this policy accepts some requests whatever the object contains. For
        // example, this policy must not block the UPDATE of an object that is being deleted.
        let mut parts = PayloadReader {
            object_later: true,
            ..PayloadReader::default()
        };
        json::read(payload, "the request", &mut parts)?;
        Ok(Self {
            settings: parts.settings(),
            scope: parts.request.scope_of_malformed(),
        })
    }
}

#[derive(Default)]
struct PayloadReader<'a> {
    request: RequestReader<'a>,
    has_request: bool,
    settings: Option<&'a RawValue>,
    /// Whether the object is kept as text, to be read later.
    object_later: bool,
}

impl<'a> PayloadReader<'a> {
    fn settings(&self) -> &'a str {
        self.settings.map_or("null", RawValue::get)
    }
}

impl<'a> Members<'a> for PayloadReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "request" => {
                self.has_request = true;
                self.request = RequestReader {
                    object_later: self.object_later,
                    ..RequestReader::default()
                };
                member.object(&mut self.request)
            }
            "settings" => {
                self.settings = Some(member.read()?);
                Ok(())
            }
            _ => member.skip(),
        }
    }

    fn missing(&self) -> Option<&'static str> {
        (!self.has_request).then_some("request")
    }
}

/// Reads the parts of an `AdmissionRequest` that this policy needs.
#[derive(Default)]
struct RequestReader<'a> {
    kind: Option<GroupKind<'a>>,
    operation: Cow<'a, str>,
    sub_resource: Cow<'a, str>,
    user: UserInfo<'a>,
    object_key: Option<&'a str>,
    key_after_object: Option<&'a str>,
    object: Option<KubernetesObjectReader<'a>>,
    /// The object as text, if it can't be read at once: the object comes before the kind, the kind
    /// is unknown, or `object_later` is set.
    raw_object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
    object_later: bool,
}

impl<'a> Members<'a> for RequestReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        if self.object_key.is_some() && self.key_after_object.is_none() {
            self.key_after_object = Some(member.raw_key()?);
        }
        match member.name() {
            "kind" => {
                let mut kind = GroupKind::default();
                member.object(&mut kind)?;
                self.kind = Some(kind);
            }
            "operation" => self.operation = member.read::<JsonString<'_>>()?.value,
            "subResource" => {
                let name = member.read::<Option<JsonString<'_>>>()?;
                self.sub_resource = name.unwrap_or_default().value;
            }
            "userInfo" => {
                self.user = UserInfo::default();
                member.optional_object(&mut self.user)?;
            }
            "object" => {
                self.object_key = Some(member.raw_key()?);
                self.key_after_object = None;
                (self.object, self.raw_object) = (None, None);
                // Hosts write the kind before the object, so the object can be read at once.
                match self.kind.as_ref().map(GroupKind::known) {
                    Some(Some(kind)) if !self.object_later => {
                        let mut object = KubernetesObjectReader::new(kind);
                        let is_one = member.optional_object(&mut object)?;
                        self.object = is_one.then_some(object);
                    }
                    _ => self.raw_object = member.read()?,
                }
            }
            "oldObject" => self.old_object = member.read()?,
            _ => member.skip()?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        self.kind.is_none().then_some("kind")
    }
}

/// `request.kind`
#[derive(Default)]
struct GroupKind<'a> {
    group: Option<JsonString<'a>>,
    kind: Option<JsonString<'a>>,
}

impl GroupKind<'_> {
    fn known(&self) -> Option<ObjectKind> {
        let group = self.group.as_ref().map_or("", |group| &*group.value);
        ObjectKind::of(group, &self.kind.as_ref()?.value)
    }
}

impl<'a> Members<'a> for GroupKind<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "group" => self.group = member.read()?,
            "kind" => self.kind = member.read()?,
            _ => member.skip()?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        self.kind.is_none().then_some("kind")
    }
}

/// `request.userInfo`
#[derive(Default)]
struct UserInfo<'a> {
    username: Cow<'a, str>,
    groups: Vec<JsonString<'a>>,
}

impl<'a> Members<'a> for UserInfo<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "username" => {
                let name: Option<JsonString<'_>> = member.read()?;
                self.username = name.unwrap_or_default().value;
            }
            "groups" => self.groups = member.read::<Option<_>>()?.unwrap_or_default(),
            _ => member.skip()?,
        }
        Ok(())
    }
}

impl UserInfo<'_> {
    fn is_node(&self) -> bool {
        self.groups.iter().any(|group| group.value == NODES_GROUP)
    }

    /// Whether the request names no user. The requests of an audit name no user.
    fn is_nobody(&self) -> bool {
        self.username.is_empty()
    }
}

impl<'a> RequestReader<'a> {
    /// The kind of the object and the type of the request. None if this policy never examines
    /// requests with this kind, operation and subresource.
    fn request_type(&self) -> Option<(ObjectKind, RequestType)> {
        let kind = self.kind.as_ref()?.known()?;
        RequestType::of(kind, &self.operation, &self.sub_resource)
            .map(|request_type| (kind, request_type))
    }

    /// Whether the object is accepted without an examination because of its metadata.
    fn passes(&self, kind: ObjectKind, request_type: RequestType, metadata: &Metadata<'_>) -> bool {
        (!request_type.is_create() && metadata.is_deleting)
            || (kind == ObjectKind::Pod && self.is_mirror_pod(metadata))
            || (kind != ObjectKind::Pod && metadata.has_controller())
    }

    /// Whether the Pod is the mirror of a static Pod, made by a kubelet. The annotation of a mirror Pod
    /// alone is not enough, because anybody can write it. A kubelet must also be the user of the
    /// request. If the request names no user, as in an audit, the Pod's controller must be a `Node`.
    fn is_mirror_pod(&self, metadata: &Metadata<'_>) -> bool {
        let is_owned_by_node = metadata.controller_kind.as_deref() == Some(NODE_KIND);
        metadata.is_mirror && (self.user.is_node() || (self.user.is_nobody() && is_owned_by_node))
    }

    /// Decides as the table at the start of docs/requests.md says, as far as the request alone decides.
    /// `evaluate.rs` applies the setting `templates`, and finds the changed images of a Pod UPDATE.
    fn scope(mut self, payload: &'a str) -> RequestHandling<'a> {
        let Some((kind, request_type)) = self.request_type() else {
            return RequestHandling::Untouched;
        };
        if let Some(raw) = self.raw_object {
            let mut object = KubernetesObjectReader::new(kind);
            if json::read(raw.get(), "object", &mut object).is_err() {
                return self.scope_of_malformed();
            }
            self.object = Some(object);
        }
        let (Some(object), Some(object_key)) = (self.object.take(), self.object_key) else {
            if request_type == RequestType::JobUpdate {
                return RequestHandling::Untouched;
            }
            return RequestHandling::Malformed(request_type, "object is missing".to_owned());
        };
        if self.passes(kind, request_type, &object.metadata) {
            return RequestHandling::Untouched;
        }
        let stored = if request_type.is_create() {
            None
        } else {
            self.stored(kind)
        };
        if request_type == RequestType::TemplateUpdate
            && let Some(stored) = &stored
            && let (Some(new), Some(old)) = (object.template_key, stored.template_key)
            && let Some(old_object) = self.old_object
            && value_of(payload, new) == value_of(old_object.get(), old)
        {
            return RequestHandling::Untouched;
        }
        let mut pod = object.spec.into_pod();
        pod.claim_templates = object.claim_templates;
        RequestHandling::Examined(Box::new(ExaminedObject {
            request_type,
            kind,
            names_no_user: self.user.is_nobody(),
            payload,
            object_key,
            key_after_object: self.key_after_object,
            metadata_key: object.metadata_key,
            metadata: object.metadata,
            spec_key: object.spec_key,
            pod,
            status: PodStatus::default(),
            status_text: object.status,
            stored: stored.map(|stored| StoredObject {
                metadata: stored.metadata,
                pod: stored.spec.into_pod(),
                status_text: stored.status,
            }),
            restored: Vec::new(),
        }))
    }

    /// The stored object. None if it is missing or can't be read. Without it, every place counts as new.
    fn stored(&self, kind: ObjectKind) -> Option<KubernetesObjectReader<'a>> {
        let mut object = KubernetesObjectReader::new(kind);
        json::read(self.old_object?.get(), "oldObject", &mut object).ok()?;
        Some(object)
    }

    /// Decides about an object that could not be read.
    fn scope_of_malformed(self) -> RequestHandling<'a> {
        let Some((kind, request_type)) = self.request_type() else {
            return RequestHandling::Untouched;
        };
        // No rule examines a Job at UPDATE, so a malformed Job is accepted too.
        if request_type == RequestType::JobUpdate {
            return RequestHandling::Untouched;
        }
        let Some(raw) = self.raw_object else {
            return RequestHandling::Malformed(request_type, "object is missing".to_owned());
        };
        let mut object = KubernetesObjectReader::without_spec(kind);
        let passes = json::read(raw.get(), "object", &mut object)
            .map(|()| self.passes(kind, request_type, &object.metadata));
        match passes {
            Ok(true) => RequestHandling::Untouched,
            Ok(false) => {
                let error =
                    json::read(raw.get(), "object", &mut KubernetesObjectReader::new(kind)).err();
                // A request can have the key `object` more than once. Only the last object is kept. If
                // only an earlier object is malformed, this reading of the last one finds no error.
                let reason = error.map(|error| error.to_string());
                let reason = reason.unwrap_or_else(|| "object is there twice".to_owned());
                RequestHandling::Malformed(request_type, reason)
            }
            Err(error) => RequestHandling::Malformed(request_type, error.to_string()),
        }
    }
}
