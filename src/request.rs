//! The admission request: what is examined, what may be changed, and what passes untouched.

mod event;
mod object;
mod payload;
mod reapply;
mod status;

use std::collections::BTreeMap;

pub use self::event::{Event, Kind};
pub use self::object::{CHANGES_ANNOTATION, Metadata};
pub use self::payload::Payload;
pub use self::status::{ContainerStatus, PodStatus};
use crate::edit::Edit;
use crate::json::{value_before, value_of};
use crate::pod::{Pod, Slot};

/// An object that the rules examine.
#[derive(Clone, Debug)]
pub struct Review<'a> {
    /// What happens to it.
    pub event: Event,
    /// What it is.
    pub kind: Kind,
    /// The payload, in which everything stands.
    payload: &'a str,
    /// The key of the object.
    object_key: &'a str,
    /// The key that follows the object in the request.
    key_after_object: Option<&'a str>,
    /// The key of its metadata.
    pub metadata_key: Option<&'a str>,
    /// Its metadata.
    pub metadata: Metadata<'a>,
    /// The key of its Pod spec.
    pub spec_key: Option<&'a str>,
    /// Its Pod spec. At UPDATE of a Pod, only the places that are new or whose image changed.
    pub pod: Pod<'a>,
    /// The status of a Pod that is "created", once it was [read](Review::read_status).
    pub status: PodStatus,
    status_text: Option<&'a str>,
    /// At UPDATE, the object that is stored.
    stored: Option<Stored<'a>>,
    /// What puts fields back to what is stored.
    pub restored: Vec<Edit<'a>>,
}

/// The stored object of an UPDATE.
#[derive(Clone, Debug)]
struct Stored<'a> {
    metadata: Metadata<'a>,
    pod: Pod<'a>,
}

impl<'a> Review<'a> {
    /// Whether the Pod was made by a controller, which never applies it again.
    #[must_use]
    pub const fn is_controlled(&self) -> bool {
        self.metadata.controlled
    }

    /// The path of the Pod spec, as Kubernetes writes it.
    #[must_use]
    pub fn spec_path(&self) -> String {
        self.kind.path().join(".")
    }

    /// The object as it came in. Hosts write something behind it, so that nobody has to look for
    /// its end.
    #[must_use]
    pub fn object(&self) -> Option<&'a str> {
        match self.key_after_object {
            Some(next) => value_before(self.payload, self.object_key, next),
            None => value_of(self.payload, self.object_key),
        }
    }

    /// The value of a key of the object. It has to be looked for, so ask once.
    #[must_use]
    pub fn value_of(&self, key: &'a str) -> Option<&'a str> {
        value_of(self.payload, key)
    }

    /// Puts back what a manifest that is applied once more would undo, see [`reapply`].
    pub fn restore(&mut self) {
        if let Some(stored) = &self.stored
            && matches!(self.event, Event::PodUpdate | Event::JobUpdate)
        {
            self.restored = reapply::restore(&mut self.pod, &stored.metadata, &stored.pod);
        }
    }

    /// Reads the status of a Pod. Only audits send one with a CREATE: the API server strips it
    /// from what is really created.
    pub fn read_status(&mut self) {
        if let Some(text) = self.status_text
            && self.event == Event::PodCreate
        {
            self.status = PodStatus::read(text);
        }
    }

    /// Keeps what an UPDATE of a Pod brings: containers whose image is another than before, or
    /// the ephemeral containers that are new. Of a Job nothing is kept, its template is immutable.
    pub fn keep_what_is_new(&mut self) {
        let event = self.event;
        let slots: &[Slot] = match event {
            Event::PodUpdate => &[Slot::InitContainer, Slot::Container],
            Event::EphemeralContainers => &[Slot::EphemeralContainer],
            Event::JobUpdate => &[],
            Event::PodCreate | Event::TemplateCreate | Event::TemplateUpdate => return,
        };
        let mut stored = BTreeMap::new();
        for place in self.stored.iter().flat_map(|stored| &stored.pod.places) {
            stored.insert((place.slot, &*place.name.value), place);
        }
        self.pod.places.retain_mut(|place| {
            let before = stored.get(&(place.slot, &*place.name.value));
            place.previous_image = before.map(|before| before.image_text().to_owned());
            let is_new = match before {
                None => true,
                Some(_) if event == Event::EphemeralContainers => false,
                Some(before) => before.image_text() != place.image_text(),
            };
            is_new && slots.contains(&place.slot)
        });
    }
}

/// What becomes of a request before any rule has run.
#[derive(Clone, Debug)]
pub enum Scope<'a> {
    /// Nothing in it concerns the policy.
    Untouched,
    /// The rules decide.
    Examine(Box<Review<'a>>),
    /// It would be examined, but its object is not what Kubernetes says, for this reason.
    Broken(Kind, String),
}
