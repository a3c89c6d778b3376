//! The payload of waPC's `validate`, and what in it decides whether an object is examined.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::object::{Metadata, Object};
use super::{Event, Kind, PodStatus, Review, Scope, Stored};
use crate::json::{self, JsonString, Member, Members, ReadError, value_of};

/// The group of the kubelets' users.
const NODES_GROUP: &str = "system:nodes";

/// The payload of waPC's `validate`: the request, and the settings, which are read later because
/// a request that passes untouched doesn't need them.
pub struct Payload<'a> {
    /// What the request is about.
    pub scope: Scope<'a>,
    /// The settings, in JSON.
    pub settings: &'a str,
}

impl<'a> Payload<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// When it is not a waPC payload of Kubewarden.
    pub fn read(payload: &'a str) -> Result<Self, ReadError> {
        let mut parts = Parts::default();
        if json::read(payload, "the request", &mut parts).is_ok() {
            return Ok(Self {
                settings: parts.settings(),
                scope: parts.request.scope(payload),
            });
        }
        // Once more, as what is wrong decides nothing if the request passes for another reason:
        // nothing may hold up an object that is being deleted.
        let mut parts = Parts {
            object_later: true,
            ..Parts::default()
        };
        json::read(payload, "the request", &mut parts)?;
        Ok(Self {
            settings: parts.settings(),
            scope: parts.request.scope_of_broken(),
        })
    }
}

#[derive(Default)]
struct Parts<'a> {
    request: Request<'a>,
    has_request: bool,
    settings: Option<&'a RawValue>,
    /// The object is kept as it stands, to be read later.
    object_later: bool,
}

impl<'a> Parts<'a> {
    fn settings(&self) -> &'a str {
        self.settings.map_or("null", RawValue::get)
    }
}

impl<'a> Members<'a> for Parts<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "request" => {
                self.has_request = true;
                self.request = Request {
                    object_later: self.object_later,
                    ..Request::default()
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

/// The parts of an `AdmissionRequest` that decide what is examined.
#[derive(Default)]
struct Request<'a> {
    kind: Option<GroupKind<'a>>,
    operation: Cow<'a, str>,
    sub_resource: Cow<'a, str>,
    by_a_node: bool,
    object_key: Option<&'a str>,
    key_after_object: Option<&'a str>,
    object: Option<Object<'a>>,
    /// The object as it stands, where it comes before the kind that says how to read it.
    raw_object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
    object_later: bool,
}

impl<'a> Members<'a> for Request<'a> {
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
                let mut user = UserInfo::default();
                member.optional_object(&mut user)?;
                self.by_a_node = user.groups.iter().any(|group| group.value == NODES_GROUP);
            }
            "object" => {
                self.object_key = Some(member.raw_key()?);
                self.key_after_object = None;
                (self.object, self.raw_object) = (None, None);
                // Hosts write the kind before the object, so that it is read in one go.
                match self.kind.as_ref().map(GroupKind::known) {
                    Some(Some(kind)) if !self.object_later => {
                        let mut object = Object::new(kind);
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
    fn known(&self) -> Option<Kind> {
        let group = self.group.as_ref().map_or("", |group| &*group.value);
        Kind::of(group, &self.kind.as_ref()?.value)
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
    groups: Vec<JsonString<'a>>,
}

impl<'a> Members<'a> for UserInfo<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "groups" => self.groups = member.read::<Option<_>>()?.unwrap_or_default(),
            _ => member.skip()?,
        }
        Ok(())
    }
}

impl<'a> Request<'a> {
    /// The kind of the object, and what happens to it, where that concerns the policy.
    fn event(&self) -> Option<(Kind, Event)> {
        let kind = self.kind.as_ref()?.known()?;
        Event::of(kind, &self.operation, &self.sub_resource).map(|event| (kind, event))
    }

    /// Whether the object passes for what stands in its metadata.
    fn passes(&self, kind: Kind, event: Event, metadata: &Metadata<'_>) -> bool {
        (!event.is_create() && metadata.deleting)
            || (kind == Kind::Pod && metadata.mirror && self.by_a_node)
            || (kind != Kind::Pod && metadata.controlled)
    }

    /// The table *Requests* of the documentation, in its order.
    fn scope(mut self, payload: &'a str) -> Scope<'a> {
        let Some((kind, event)) = self.event() else {
            return Scope::Untouched;
        };
        if let Some(raw) = self.raw_object {
            let mut object = Object::new(kind);
            if json::read(raw.get(), "object", &mut object).is_err() {
                return self.scope_of_broken();
            }
            self.object = Some(object);
        }
        let (Some(object), Some(object_key)) = (self.object.take(), self.object_key) else {
            if event == Event::JobUpdate {
                return Scope::Untouched;
            }
            return Scope::Broken(kind, "object is missing".to_owned());
        };
        if self.passes(kind, event, &object.metadata) {
            return Scope::Untouched;
        }
        let stored = if event.is_create() {
            None
        } else {
            self.stored(kind)
        };
        if event == Event::TemplateUpdate
            && let Some(stored) = &stored
            && let (Some(new), Some(old)) = (object.template_key, stored.template_key)
            && let Some(old_object) = self.old_object
            && value_of(payload, new) == value_of(old_object.get(), old)
        {
            return Scope::Untouched;
        }
        Scope::Examine(Box::new(Review {
            event,
            kind,
            payload,
            object_key,
            key_after_object: self.key_after_object,
            metadata_key: object.metadata_key,
            metadata: object.metadata,
            spec_key: object.spec_key,
            pod: object.spec.into_pod(),
            status: PodStatus::default(),
            status_text: object.status,
            stored: stored.map(|stored| Stored {
                metadata: stored.metadata,
                pod: stored.spec.into_pod(),
            }),
            restored: Vec::new(),
        }))
    }

    /// The stored object. One that can't be read tells nothing, and everything counts as new.
    fn stored(&self, kind: Kind) -> Option<Object<'a>> {
        let mut object = Object::new(kind);
        json::read(self.old_object?.get(), "oldObject", &mut object).ok()?;
        Some(object)
    }

    /// What becomes of an object that could not be read.
    fn scope_of_broken(self) -> Scope<'a> {
        let Some((kind, event)) = self.event() else {
            return Scope::Untouched;
        };
        // Nothing of it would be examined.
        if event == Event::JobUpdate {
            return Scope::Untouched;
        }
        let Some(raw) = self.raw_object else {
            return Scope::Broken(kind, "object is missing".to_owned());
        };
        let mut object = Object::without_spec(kind);
        let passes = json::read(raw.get(), "object", &mut object)
            .map(|()| self.passes(kind, event, &object.metadata));
        match passes {
            Ok(true) => Scope::Untouched,
            Ok(false) => {
                let problem = json::read(raw.get(), "object", &mut Object::new(kind)).err();
                Scope::Broken(kind, problem.map(|e| e.to_string()).unwrap_or_default())
            }
            Err(problem) => Scope::Broken(kind, problem.to_string()),
        }
    }
}
