//! The metadata of an object.

use std::borrow::Cow;

use crate::document::{Node, WrongValue};

/// The annotation that records the changes made to an object.
pub(crate) const CHANGES_ANNOTATION: &str = "consistent-pull-policy/changes";

/// The kubelet marks the Pods that mirror its static Pods with this annotation.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The prefix of an annotation that gives a container an `AppArmor` profile. The container's name
/// follows this prefix. Source: `DeprecatedAppArmorBetaContainerAnnotationKeyPrefix` in
/// `staging/src/k8s.io/api/core/v1/annotation_key_constants.go`.
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The parts of an object's metadata that this policy needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata<'a> {
    /// The annotations, if the object has any.
    pub(crate) annotations: Option<Node<'a>>,
    /// Whether the object has the annotation of a mirror Pod.
    pub(crate) is_mirror: bool,
    /// Whether the object has a `deletionTimestamp`.
    pub(crate) is_deleting: bool,
    /// The kind of the object's controller. None if the object has no controller.
    pub(crate) controller_kind: Option<Cow<'a, str>>,
}

impl<'a> Metadata<'a> {
    /// Reads the metadata of an object.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub(crate) fn read(object: &Node<'a>) -> Result<Self, WrongValue<'a>> {
        let Some(metadata) = object.optional("metadata")? else {
            return Ok(Self::default());
        };
        let annotations = metadata.optional("annotations")?;
        let is_mirror = match &annotations {
            Some(annotations) => annotations.member(MIRROR_ANNOTATION)?.is_some(),
            None => false,
        };
        let mut controller_kind = None;
        for owner in metadata.list("ownerReferences")? {
            let kind = owner.string("kind")?.unwrap_or_default();
            if owner.boolean("controller")? == Some(true) {
                controller_kind.get_or_insert(kind);
            }
        }
        Ok(Self {
            annotations,
            is_mirror,
            is_deleting: metadata.optional("deletionTimestamp")?.is_some(),
            controller_kind,
        })
    }

    /// Whether one of the object's owners is its controller.
    pub(crate) const fn has_controller(&self) -> bool {
        self.controller_kind.is_some()
    }

    /// Whether an annotation gives a container an `AppArmor` profile.
    pub(crate) fn has_app_armor_annotation(&self, container: &str) -> bool {
        let key = format!("{APP_ARMOR_ANNOTATION}{container}");
        let annotations = self.annotations.as_ref();
        annotations.is_some_and(|annotations| annotations.get(&key).is_some())
    }

    /// The record of changes. None if the object has no record, or if the record is no JSON string.
    pub(crate) fn record(&self) -> Option<Cow<'a, str>> {
        self.annotations.as_ref()?.string(CHANGES_ANNOTATION).ok()?
    }
}
