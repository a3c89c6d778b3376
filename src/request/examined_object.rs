//! An object that the rules examine.

use std::collections::BTreeMap;

use super::object_reader::Metadata;
use super::reapply::{self, RestoredField};
use super::request_type::{ObjectKind, RequestType};
use super::status::PodStatus;
use crate::json::{ReadError, elements, value_before, value_of};
use crate::pod::{Pod, PodSpecList};
use crate::settings::ImageCheckSettings;

/// An object that the rules examine.
#[derive(Clone, Debug)]
pub struct ExaminedObject<'a> {
    /// The type of the request.
    pub request_type: RequestType,
    /// The kind of the object.
    pub kind: ObjectKind,
    /// Whether the request names no user. Audits send such requests.
    pub names_no_user: bool,
    /// The payload, from which the other fields borrow their texts.
    pub(super) payload: &'a str,
    /// The key of the object in the payload.
    pub(super) object_key: &'a str,
    /// The key that follows the object in the payload. `None` if no key follows.
    pub(super) key_after_object: Option<&'a str>,
    /// The key of the metadata in the payload.
    pub metadata_key: Option<&'a str>,
    /// The metadata.
    pub metadata: Metadata<'a>,
    /// The key of the Pod spec in the payload.
    pub spec_key: Option<&'a str>,
    /// The Pod spec.
    pub pod: Pod<'a>,
    /// The status of an existing Pod, in an audit or at UPDATE.
    /// [`read_status`](ExaminedObject::read_status) reads it.
    pub status: PodStatus,
    /// The text of the status in the payload.
    pub(super) status_text: Option<&'a str>,
    /// At UPDATE, the stored object. `None` if it is missing or can't be read.
    pub(super) stored: Option<StoredObject<'a>>,
    /// The fields that were put back to their stored values.
    pub restored: Vec<RestoredField<'a>>,
}

/// The stored object of an UPDATE.
#[derive(Clone, Debug)]
pub(super) struct StoredObject<'a> {
    pub(super) metadata: Metadata<'a>,
    pub(super) pod: Pod<'a>,
    /// The text of the status in the payload.
    pub(super) status_text: Option<&'a str>,
}

impl<'a> ExaminedObject<'a> {
    /// The keys that lead from the object to its Pod spec.
    #[must_use]
    pub const fn spec_path(&self) -> &'static [&'static str] {
        self.kind.spec_path()
    }

    /// The object as it came in.
    #[must_use]
    pub fn object(&self) -> Option<&'a str> {
        // Hosts normally write another key after the object. This key marks the end of the object, so
        // no code has to search for the end.
        match self.key_after_object {
            Some(next) => value_before(self.payload, self.object_key, next),
            None => value_of(self.payload, self.object_key),
        }
    }

    /// The value of a key of the object. Each call searches for the end of the value.
    #[must_use]
    pub fn value_of(&self, key: &'a str) -> Option<&'a str> {
        value_of(self.payload, key)
    }

    /// *Re-apply*, at UPDATE of a Pod or a Job: puts back the stored values that a manifest would
    /// undo when somebody applies the manifest again. See [`reapply`].
    pub fn restore_stored_values(&mut self) {
        if let Some(stored) = &self.stored
            && matches!(
                self.request_type,
                RequestType::PodUpdate | RequestType::JobUpdate
            )
        {
            self.restored = reapply::restore(&mut self.pod, &stored.metadata, &stored.pod);
        }
    }

    /// Reads those fields of the existing checks that an added check may copy.
    ///
    /// # Errors
    /// An init container with the name of a check has a wrong shape.
    pub fn read_checks(&mut self, checks: &ImageCheckSettings) -> Result<(), ReadError> {
        let list = self
            .pod
            .init_containers_key
            .and_then(|key| self.value_of(key));
        let elements = list.map(elements).unwrap_or_default();
        self.pod.read_checks(&elements, |name| checks.names(name))
    }

    /// Reads the status of an existing Pod. An audit sends this status in a CREATE without a user. At
    /// UPDATE, the stored object has it. The status in any other request is ignored, because a person may
    /// have written it.
    pub fn read_status(&mut self) {
        let text = match self.request_type {
            RequestType::PodCreate if self.names_no_user => self.status_text,
            RequestType::PodUpdate => self.stored.as_ref().and_then(|stored| stored.status_text),
            _ => None,
        };
        self.status = text.map(PodStatus::read).unwrap_or_default();
    }

    /// Finds the places that the rules examine. At UPDATE of a Pod, these are init and app containers
    /// that are new or have a new image. At UPDATE of `ephemeralcontainers`, these are new ephemeral
    /// containers. At UPDATE of a Job there are none, because its pod template is immutable. In any other
    /// request, the rules examine all places. Returns whether there are any.
    pub fn find_new_images(&mut self) -> bool {
        let request_type = self.request_type;
        let lists: &[PodSpecList] = match request_type {
            RequestType::PodUpdate => &[PodSpecList::InitContainers, PodSpecList::Containers],
            RequestType::EphemeralContainersUpdate => &[PodSpecList::EphemeralContainers],
            RequestType::JobUpdate => &[],
            RequestType::PodCreate | RequestType::TemplateCreate | RequestType::TemplateUpdate => {
                return !self.pod.places.is_empty();
            }
        };
        let mut stored = BTreeMap::new();
        for place in self.stored.iter().flat_map(|stored| &stored.pod.places) {
            stored.insert((place.list, &*place.name.value), place);
        }
        for place in &mut self.pod.places {
            let before = stored.get(&(place.list, &*place.name.value));
            place.stored_image = before.map(|before| before.image_text().to_owned());
            let is_new = match before {
                None => true,
                Some(_) if request_type == RequestType::EphemeralContainersUpdate => false,
                Some(before) => before.image_text() != place.image_text(),
            };
            place.is_in_scope = is_new && lists.contains(&place.list);
        }
        self.pod.places.iter().any(|place| place.is_in_scope)
    }
}
