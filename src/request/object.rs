//! An object of a known kind, read down to its Pod spec.

use serde::de::MapAccess;
use serde_json::value::RawValue;

use super::event::Kind;
use crate::json::{Member, Members};
use crate::pod::PodSpec;

/// The annotation that records the changes made to an object.
pub const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";

/// The kubelet marks the Pods that mirror its static Pods with this annotation.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// What has to be known of an object's metadata.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'a> {
    /// The key of the annotations.
    pub annotations_key: Option<&'a str>,
    /// The value of [`CHANGES_ANNOTATION`], in JSON. Who only accepts need not read it.
    pub changes: Option<&'a str>,
    /// It is a mirror Pod, or says so.
    pub mirror: bool,
    /// It has a `deletionTimestamp`.
    pub deleting: bool,
    /// An owner is its controller.
    pub controlled: bool,
}

impl Metadata<'_> {
    /// What the record of changes says; nothing where there is none.
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
                let mut annotations = Annotations(self);
                member.optional_object(&mut annotations)?;
            }
            "deletionTimestamp" => {
                self.deleting = member.read::<Option<&RawValue>>()?.is_some();
            }
            "ownerReferences" => {
                let owners = member.object_list(|_| Owner::default())?;
                self.controlled = owners.iter().any(|owner| owner.controller);
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}

struct Annotations<'m, 'a>(&'m mut Metadata<'a>);

impl<'a> Members<'a> for Annotations<'_, 'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            CHANGES_ANNOTATION => self.0.changes = Some(member.read::<&RawValue>()?.get()),
            MIRROR_ANNOTATION => {
                self.0.mirror = true;
                member.skip()?;
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// An element of `ownerReferences`.
#[derive(Default)]
struct Owner {
    controller: bool,
}

impl<'a> Members<'a> for Owner {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        match member.name() {
            "controller" => self.controller = member.read::<Option<bool>>()?.unwrap_or_default(),
            _ => member.skip()?,
        }
        Ok(())
    }
}

/// An object of a known kind.
pub(super) struct Object<'a> {
    kind: Kind,
    /// The Pod spec is read; otherwise only the metadata are.
    with_spec: bool,
    pub(super) metadata: Metadata<'a>,
    pub(super) metadata_key: Option<&'a str>,
    /// The key of the pod template; a Pod has none.
    pub(super) template_key: Option<&'a str>,
    pub(super) spec_key: Option<&'a str>,
    pub(super) spec: PodSpec<'a>,
    /// `status`, which is only a Pod's that is looked at.
    pub(super) status: Option<&'a str>,
    has_first_step: bool,
}

impl Object<'_> {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            with_spec: true,
            metadata: Metadata::default(),
            metadata_key: None,
            template_key: None,
            spec_key: None,
            spec: PodSpec::default(),
            status: None,
            has_first_step: false,
        }
    }

    /// One whose Pod spec is not looked at.
    pub(super) fn without_spec(kind: Kind) -> Self {
        Self {
            with_spec: false,
            ..Self::new(kind)
        }
    }
}

impl<'a> Members<'a> for Object<'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        let path = self.kind.path();
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
                Step::new(path, self).read(member)?;
            }
            _ => member.skip()?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        let first = self.kind.path().first().copied();
        first.filter(|_| self.with_spec && !self.has_first_step)
    }
}

/// A step on the way down to the Pod spec.
struct Step<'o, 'a> {
    /// The keys that are left, the one of this step first.
    path: &'static [&'static str],
    object: &'o mut Object<'a>,
    has_next: bool,
}

impl<'o, 'a> Step<'o, 'a> {
    fn new(path: &'static [&'static str], object: &'o mut Object<'a>) -> Self {
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
                self.object.spec = PodSpec::default();
                member.object(&mut self.object.spec)
            }
            [_, rest @ ..] => {
                if rest.len() == 1 {
                    self.object.template_key = Some(member.raw_key()?);
                }
                member.object(&mut Step::new(rest, self.object))
            }
        }
    }
}

impl<'a> Members<'a> for Step<'_, 'a> {
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error> {
        if self.path.first() == Some(&member.name()) {
            self.has_next = true;
            return self.read(member);
        }
        member.skip()
    }

    fn missing(&self) -> Option<&'static str> {
        self.path.first().copied().filter(|_| !self.has_next)
    }
}
