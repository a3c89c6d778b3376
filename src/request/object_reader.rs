//! Reads an object of a known kind, down to its Pod spec.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::request_type::ObjectKind;
use crate::json::{JsonString, Member, Members};
use crate::pod::PodSpecReader;

/// The annotation that records the changes made to an object.
pub const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";

/// The kubelet marks the Pods that mirror its static Pods with this annotation.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The prefix of an annotation that gives a container an `AppArmor` profile. The container's name
/// follows this prefix. Source: `DeprecatedAppArmorBetaContainerAnnotationKeyPrefix` in
/// `staging/src/k8s.io/api/core/v1/annotation_key_constants.go`.
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The parts of an object's metadata that this policy needs.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'a> {
    /// The key `annotations` in the payload. Its position shows where the annotations are.
    pub annotations_key: Option<&'a str>,
    /// The value of [`CHANGES_ANNOTATION`] in the payload. It is not parsed before it is needed,
    /// because few requests need it.
    pub changes: Option<&'a str>,
    /// Whether the object has the annotation of a mirror Pod.
    pub is_mirror: bool,
    /// Whether the object has a `deletionTimestamp`.
    pub is_deleting: bool,
    /// The kind of the object's controller. None if the object has no controller.
    pub controller_kind: Option<String>,
    /// The names of the containers that get an `AppArmor` profile from an annotation.
    pub app_armor_containers: Vec<String>,
}

impl Metadata<'_> {
    /// Whether one of the object's owners is its controller.
    #[must_use]
    pub const fn has_controller(&self) -> bool {
        self.controller_kind.is_some()
    }

    /// The record of changes. None if the object has no record, or if the record is no JSON string.
    #[must_use]
    pub fn record(&self) -> Option<String> {
        serde_json::from_str::<Option<String>>(self.changes?).ok()?
    }
}

impl<'a> Members<'a> for Metadata<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "annotations" => {
                self.annotations_key = Some(member.raw_key()?);
                let mut annotations = AnnotationsReader(self);
                member.optional_object(&mut annotations)?;
            }
            "deletionTimestamp" => {
                self.is_deleting = member.read::<Option<&RawValue>>()?.is_some();
            }
            "ownerReferences" => {
                let owners = member.object_list(|_| OwnerReference::default())?;
                let mut controllers = owners.into_iter().filter(|owner| owner.is_controller);
                self.controller_kind = controllers.next().map(|owner| owner.kind.into_owned());
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}

struct AnnotationsReader<'m, 'a>(&'m mut Metadata<'a>);

impl<'a> Members<'a> for AnnotationsReader<'_, 'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            CHANGES_ANNOTATION => self.0.changes = Some(member.read::<&RawValue>()?.get()),
            MIRROR_ANNOTATION => {
                self.0.is_mirror = true;
                member.skip()?;
            }
            name => {
                let container = name.strip_prefix(APP_ARMOR_ANNOTATION).map(str::to_owned);
                self.0.app_armor_containers.extend(container);
                member.skip()?;
            }
        }
        Ok(())
    }
}

/// An element of `ownerReferences`.
#[derive(Default)]
struct OwnerReference<'a> {
    is_controller: bool,
    kind: Cow<'a, str>,
}

impl<'a> Members<'a> for OwnerReference<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "controller" => {
                self.is_controller = member.read::<Option<bool>>()?.unwrap_or_default();
            }
            "kind" => {
                let kind: Option<JsonString<'_>> = member.read()?;
                self.kind = kind.unwrap_or_default().value;
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// Reads an object of a known kind.
pub(super) struct KubernetesObjectReader<'a> {
    kind: ObjectKind,
    /// Whether the Pod spec is read too, and not only the metadata and the status.
    with_spec: bool,
    pub(super) metadata: Metadata<'a>,
    pub(super) metadata_key: Option<&'a str>,
    /// The key of the pod template in the payload. A Pod has no pod template.
    pub(super) template_key: Option<&'a str>,
    pub(super) spec_key: Option<&'a str>,
    pub(super) spec: PodSpecReader<'a>,
    /// The value of `spec.volumeClaimTemplates` in the payload. Only a `StatefulSet` has this field.
    pub(super) claim_templates: Option<&'a str>,
    /// The value of `status` in the payload. Only the status of a Pod is parsed later.
    pub(super) status: Option<&'a str>,
    has_first_step: bool,
}

impl KubernetesObjectReader<'_> {
    pub(super) fn new(kind: ObjectKind) -> Self {
        Self {
            kind,
            with_spec: true,
            metadata: Metadata::default(),
            metadata_key: None,
            template_key: None,
            spec_key: None,
            spec: PodSpecReader::default(),
            claim_templates: None,
            status: None,
            has_first_step: false,
        }
    }

    /// A reader that skips the Pod spec.
    pub(super) fn without_spec(kind: ObjectKind) -> Self {
        Self {
            with_spec: false,
            ..Self::new(kind)
        }
    }
}

impl<'a> Members<'a> for KubernetesObjectReader<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        let path = self.kind.spec_path();
        match member.name() {
            "metadata" => {
                self.metadata_key = Some(member.raw_key()?);
                self.metadata = Metadata::default();
                member.optional_object(&mut self.metadata)?;
            }
            "status" => {
                self.status = member.read::<Option<&RawValue>>()?.map(RawValue::get);
            }
            name if self.with_spec && path.first() == Some(&name) => {
                self.has_first_step = true;
                SpecPathStep::new(path, self).read(member)?;
            }
            _ => member.skip()?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        let first = self.kind.spec_path().first().copied();
        first.filter(|_| self.with_spec && !self.has_first_step)
    }
}

/// Reads one step of the path to the Pod spec.
struct SpecPathStep<'o, 'a> {
    /// The rest of the path to the Pod spec. Its first key is the key of this step.
    path: &'static [&'static str],
    object: &'o mut KubernetesObjectReader<'a>,
    has_next: bool,
}

impl<'o, 'a> SpecPathStep<'o, 'a> {
    fn new(path: &'static [&'static str], object: &'o mut KubernetesObjectReader<'a>) -> Self {
        Self {
            path,
            object,
            has_next: false,
        }
    }

    /// Reads the value of this step's key.
    fn read<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match self.path {
            [] | [_] => {
                self.object.spec_key = Some(member.raw_key()?);
                self.object.spec = PodSpecReader::default();
                member.object(&mut self.object.spec)
            }
            [_, rest @ ..] => {
                if rest.len() == 1 {
                    self.object.template_key = Some(member.raw_key()?);
                }
                member.object(&mut SpecPathStep::new(rest, self.object))
            }
        }
    }
}

impl<'a> Members<'a> for SpecPathStep<'_, 'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        if self.path.first() == Some(&member.name()) {
            self.has_next = true;
            return self.read(member);
        }
        if member.name() == "volumeClaimTemplates" {
            self.object.claim_templates = Some(member.read::<&RawValue>()?.get());
            return Ok(());
        }
        member.skip()
    }

    fn missing(&self) -> Option<&'static str> {
        self.path.first().copied().filter(|_| !self.has_next)
    }
}
