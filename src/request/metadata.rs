//! The metadata of an object, as far as this policy reads it.

use serde_json::{Map, Value};

use crate::json::{self, InvalidField};

/// With this annotation, the kubelet marks the mirror Pods of its static Pods.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The prefix of an annotation that gives a container an `AppArmor` profile. The container's name
/// follows it. Source: `DeprecatedAppArmorBetaContainerAnnotationKeyPrefix` in
/// `staging/src/k8s.io/api/core/v1/annotation_key_constants.go`.
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata<'o> {
    annotations: Option<&'o Map<String, Value>>,
    /// The kind of the object's controller. None if the object has no controller.
    pub(super) controller: Option<&'o str>,
    pub(super) is_deleting: bool,
}

impl<'o> Metadata<'o> {
    /// Reads the metadata of an object.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub(crate) fn read(object: &'o Value) -> Result<Self, InvalidField<'o>> {
        let Some(metadata) = json::member(object, "metadata")? else {
            return Ok(Self::default());
        };
        let mut controller = None;
        for owner in json::list(metadata, "ownerReferences")? {
            let kind = json::string(owner, "kind")?.unwrap_or_default();
            if json::boolean(owner, "controller")? == Some(true) {
                controller.get_or_insert(kind);
            }
        }
        Ok(Self {
            annotations: json::typed(metadata, "annotations", "an object", Value::as_object)?,
            controller,
            is_deleting: json::member(metadata, "deletionTimestamp")?.is_some(),
        })
    }

    pub(crate) fn annotations(&self) -> impl Iterator<Item = (&'o str, &'o Value)> {
        self.annotations
            .into_iter()
            .flatten()
            .map(|(key, value)| (&**key, value))
    }

    /// An annotation. None if it is missing or no string.
    pub(crate) fn annotation(&self, key: &str) -> Option<&'o str> {
        self.annotations?.get(key)?.as_str()
    }

    /// Whether the object has the annotation of a mirror Pod.
    pub(super) fn is_mirror(&self) -> bool {
        self.annotations
            .is_some_and(|annotations| annotations.contains_key(MIRROR_ANNOTATION))
    }

    /// Whether an annotation gives a container an `AppArmor` profile.
    pub(crate) fn has_app_armor_profile(&self, container: &str) -> bool {
        self.annotation(&[APP_ARMOR_ANNOTATION, container].concat())
            .is_some()
    }
}
