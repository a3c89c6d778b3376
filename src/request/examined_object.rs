//! An object that the rules examine, and its metadata.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::reapply::{self, RestoredField};
use super::request_type::{ObjectKind, RequestType};
use super::status::PodStatus;
use crate::document::{JsonNode, WrongValue};
use crate::pod_spec::{Place, PlacesByListAndName, PodSpec, PodSpecList};

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
pub(crate) struct ObjectMetadata<'a> {
    /// The annotations, if the object has any.
    pub(crate) annotations: Option<JsonNode<'a>>,
    /// Whether the object has the annotation of a mirror Pod.
    pub(crate) is_mirror: bool,
    /// Whether the object has a `deletionTimestamp`.
    pub(crate) is_deleting: bool,
    /// The kind of the object's controller. None if the object has no controller.
    pub(crate) controller_kind: Option<Cow<'a, str>>,
}

impl<'a> ObjectMetadata<'a> {
    /// Reads the metadata of an object.
    ///
    /// # Errors
    /// A value has a wrong shape.
    pub(crate) fn read(object: &JsonNode<'a>) -> Result<Self, WrongValue<'a>> {
        let Some(metadata) = object.optional("metadata")? else {
            return Ok(Self::default());
        };
        let annotations = metadata.optional("annotations")?;
        let mirror = (annotations.as_ref()).map(|all| all.member(MIRROR_ANNOTATION));
        let is_mirror = mirror.transpose()?.flatten().is_some();
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

    /// The names of the containers to which an annotation gives an `AppArmor` profile.
    pub(crate) fn containers_with_app_armor_annotation(&self) -> BTreeSet<String> {
        let annotations = self.annotations.iter().flat_map(JsonNode::members);
        let profiles = annotations.filter(|(_, profile)| profile.text() != "null");
        let container =
            |(key, _): (Cow<'a, str>, _)| Some(key.strip_prefix(APP_ARMOR_ANNOTATION)?.to_owned());
        let mut names = BTreeSet::new();
        names.extend(profiles.filter_map(container));
        names
    }

    /// The record of changes. None if the object has no record, or if the record is no JSON string.
    pub(crate) fn record(&self) -> Option<Cow<'a, str>> {
        self.annotations.as_ref()?.string(CHANGES_ANNOTATION).ok()?
    }
}

/// An object that the rules examine.
pub(crate) struct ExaminedObject<'a> {
    /// The type of the request.
    pub(crate) request_type: RequestType,
    /// The kind of the object.
    pub(crate) kind: ObjectKind,
    /// Whether the request names no user. Audits send such requests.
    pub(crate) names_no_user: bool,
    /// The object as it came in.
    pub(crate) node: JsonNode<'a>,
    /// The metadata.
    pub(crate) metadata: ObjectMetadata<'a>,
    /// The Pod spec.
    pub(crate) pod: PodSpec<'a>,
    /// At UPDATE, the stored object. `None` if it is missing or can't be read.
    pub(super) stored: Option<StoredObject<'a>>,
    /// The fields that were put back to their stored values.
    pub(crate) restored: Vec<RestoredField<'a>>,
}

/// The stored object of an UPDATE.
pub(super) struct StoredObject<'a> {
    node: JsonNode<'a>,
    metadata: ObjectMetadata<'a>,
    pod: PodSpec<'a>,
}

impl<'a> StoredObject<'a> {
    /// Reads a stored object. None if it can't be read. Without it, every place counts as new.
    pub(super) fn read(object: JsonNode<'a>, kind: ObjectKind) -> Option<Self> {
        Some(Self {
            metadata: ObjectMetadata::read(&object).ok()?,
            pod: PodSpec::read(kind.pod_spec(&object).ok()?).ok()?,
            node: object,
        })
    }
}

impl<'a> ExaminedObject<'a> {
    /// The path from the object to its Pod spec.
    pub(crate) const fn spec_path(&self) -> &'static str {
        self.kind.spec_path()
    }

    /// Whether the stored object has the same pod template, written alike.
    pub(super) fn has_stored_template(&self) -> bool {
        let text = |object: &JsonNode<'a>| Some(self.kind.pod_template(object).ok()?.text());
        let stored = self.stored.as_ref().and_then(|stored| text(&stored.node));
        stored.is_some() && stored == text(&self.node)
    }

    /// The names of the claim templates of a `StatefulSet`. The controller makes a volume of each.
    pub(crate) fn claim_template_names(&self) -> Vec<Cow<'a, str>> {
        let spec = self.node.get("spec");
        let claims = spec.and_then(|spec| spec.get("volumeClaimTemplates"));
        let claims = claims.map(|claims| claims.elements()).unwrap_or_default();
        let name = |claim: &JsonNode<'a>| claim.get("metadata")?.string("name").ok()?;
        claims.iter().filter_map(name).collect()
    }

    /// *Re-apply*, at UPDATE of a Pod or a Job: puts back the stored values that a manifest would
    /// undo when somebody applies the manifest again. See [`reapply`].
    pub(crate) fn restore_stored_values(&mut self) {
        if let Some(stored) = &self.stored
            && matches!(
                self.request_type,
                RequestType::PodUpdate | RequestType::JobUpdate
            )
        {
            let record = stored.metadata.record().unwrap_or_default();
            self.restored = reapply::restore(&mut self.pod, &record, &stored.pod);
        }
    }

    /// The status of an existing Pod. An audit sends this status in a CREATE without a user. At
    /// UPDATE, the stored object has it. The status in any other request is ignored, because a person may
    /// have written it.
    pub(crate) fn status(&self) -> PodStatus<'a> {
        let object = match self.request_type {
            RequestType::PodCreate if self.names_no_user => Some(&self.node),
            RequestType::PodUpdate => self.stored.as_ref().map(|stored| &stored.node),
            _ => None,
        };
        let status = object.and_then(|object| object.get("status"));
        status
            .map(|status| PodStatus::read(&status))
            .unwrap_or_default()
    }

    /// The places of the stored object, by list and name. Empty if the request has no stored object.
    pub(crate) fn stored_places(&self) -> PlacesByListAndName<'_> {
        let stored = self.stored.as_ref();
        stored.map_or_else(BTreeMap::new, |stored| stored.pod.places_by_list_and_name())
    }

    /// The places that the rules examine. At UPDATE of a Pod, these are init and app containers
    /// that are new or have a new image. At UPDATE of `ephemeralcontainers`, these are new ephemeral
    /// containers. At UPDATE of a Job there are none, because its pod template is immutable. In any other
    /// request, the rules examine all places.
    pub(crate) fn places_to_examine(&self, stored: &PlacesByListAndName<'_>) -> Vec<&Place<'a>> {
        let places = self.pod.places.iter();
        let stored_image = |place: &Place<'_>| {
            let stored = stored.get(&(place.list, &*place.name));
            stored.map(|stored| stored.image_text())
        };
        match self.request_type {
            RequestType::PodCreate | RequestType::TemplateCreate | RequestType::TemplateUpdate => {
                places.collect()
            }
            RequestType::PodUpdate => {
                let is_container = |place: &Place<'_>| {
                    matches!(
                        place.list,
                        PodSpecList::InitContainers | PodSpecList::Containers
                    )
                };
                let is_new = |place: &Place<'_>| stored_image(place) != Some(place.image_text());
                places
                    .filter(|place| is_container(place) && is_new(place))
                    .collect()
            }
            RequestType::EphemeralContainersUpdate => {
                let ephemeral = places.filter(|one| one.list == PodSpecList::EphemeralContainers);
                ephemeral
                    .filter(|place| stored_image(place).is_none())
                    .collect()
            }
            RequestType::JobUpdate => Vec::new(),
        }
    }
}
