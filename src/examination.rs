//! The examination of one object: the state that the rules read and change.

mod additions;
mod coverage;
mod finding;
mod place;
mod roles;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

pub(crate) use self::additions::{Additions, MOUNT_FOLDER, summary};
pub(crate) use self::coverage::{Coverage, Pulls};
pub(crate) use self::finding::{Effect, Finding, Reason, Rule, Subject};
pub(crate) use self::place::{Place, Why};
pub(crate) use self::roles::Role;
use crate::json::{Wrong, member};
use crate::lookup::Failure;
use crate::pod::{List, Spec, mounts};
use crate::request::{Metadata, Operation, Request};
use crate::settings::{Action, Form, Settings};

/// The examination of one object. Each rule works on the result of the rule before it.
///
/// The rules set the image and the pull policy that every place should have, with the reasons. The mode decides later what
/// happens to the findings. So all modes compute the same outcome.
pub(crate) struct Examination<'o> {
    /// The request.
    pub(crate) request: &'o Request<'o>,
    /// The metadata of the object.
    pub(crate) metadata: Metadata<'o>,
    /// The Pod spec.
    pub(crate) spec: Spec<'o>,
    /// The settings.
    pub(crate) settings: &'o Settings,
    /// The containers and image volumes: init containers, app containers, ephemeral containers, image volumes, and then
    /// the checks that this policy adds.
    pub(crate) places: Vec<Place<'o>>,
    /// The index of the first init container: the first that is neither a native sidecar nor exempt.
    pub(crate) first_init: Option<usize>,
    /// The findings that no changed value of a place repairs.
    pub(crate) findings: Vec<Finding<'o>>,
    /// The lookups that failed or were not made, by the normalised image.
    pub(crate) failed_lookups: BTreeMap<String, FailedLookup>,
    /// What the added checks have in common. None if there are none.
    pub(crate) additions: Option<Additions>,
    /// The indexes of the added init containers, in the returned object.
    pub(crate) added_init_containers: Range<usize>,
}

/// A lookup that failed, or that was not made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedLookup {
    /// Why there is no answer.
    pub(crate) failure: Failure,
    /// What was done about it.
    pub(crate) action: Action,
}

impl<'o> Examination<'o> {
    /// Begins the examination of a request's object.
    ///
    /// # Errors
    /// A value of the object has a wrong shape.
    pub(crate) fn new(
        request: &'o Request<'o>,
        metadata: Metadata<'o>,
        settings: &'o Settings,
    ) -> Result<Self, Wrong<'o>> {
        let spec = Spec::read(request.kind.spec(request.object)?)?;
        let mut places = Vec::new();
        for list in List::CONTAINERS {
            for (index, entry) in spec.list(list)?.iter().enumerate() {
                places.push(Place::read(list, index, entry, entry, settings)?);
            }
        }
        let containers = places.len();
        for (index, volume) in spec.list(List::Volumes)?.iter().enumerate() {
            if let Some(image) = member(volume, "image")? {
                places.push(Place::read(List::Volumes, index, volume, image, settings)?);
            }
        }
        let has_volumes = places.len() > containers;
        if has_volumes || settings.image_checks.form == Form::ImageVolume {
            for place in places.iter_mut().take(containers) {
                place.mounts = mounts(place.value)?;
            }
        }
        let first_init = roles::assign(&mut places, settings);
        let mut examination = Self {
            request,
            metadata,
            spec,
            settings,
            places,
            first_init,
            findings: Vec::new(),
            failed_lookups: BTreeMap::new(),
            additions: None,
            added_init_containers: 0..0,
        };
        examination.leave_out_stored_places();
        Ok(examination)
    }

    /// At UPDATE of a Pod, only init containers and app containers with another image than the stored one are examined.
    /// At UPDATE of `ephemeralcontainers`, only new ephemeral containers are.
    fn leave_out_stored_places(&mut self) {
        let operation = self.request.operation;
        if operation.is_before_start() {
            return;
        }
        let stored = stored_images(self.request);
        for place in &mut self.places {
            let stored = stored.get(&(place.list, &*place.name));
            place.is_examined = match (operation, place.list) {
                (Operation::PodUpdate, List::InitContainers | List::Containers) => {
                    stored != Some(&&*place.image.before)
                }
                (Operation::EphemeralUpdate, List::EphemeralContainers) => stored.is_none(),
                _ => false,
            };
        }
    }

    /// Whether the rules have anything to examine.
    pub(crate) fn is_needed(&self) -> bool {
        self.places.iter().any(|place| place.is_examined)
    }

    /// Whether the Pod has, or gets, an image check.
    pub(crate) fn has_checks(&self) -> bool {
        self.places.iter().any(|place| place.role == Role::Check)
    }

    /// The path of a field of a place in the request's object, e.g. `spec.containers[0].image`.
    pub(crate) fn path(&self, place: &Place<'_>, field: &str) -> String {
        self.path_at(place.list, place.index, field)
    }

    /// The path of a field of a place in the returned object. Of an added place, the path of the whole entry.
    pub(crate) fn path_after(&self, place: &Place<'_>, field: &str) -> String {
        let field = if place.is_added() { "" } else { field };
        self.path_at(place.list, self.index_after(place), field)
    }

    fn path_at(&self, list: List, index: usize, field: &str) -> String {
        let (spec, list) = (self.request.kind.spec_path(), list.name());
        let dot = if field.is_empty() { "" } else { "." };
        format!("{spec}.{list}[{index}]{dot}{field}")
    }

    /// The index of a place in its list of the returned object. Added init containers move those behind them.
    pub(crate) fn index_after(&self, place: &Place<'_>) -> usize {
        let added = &self.added_init_containers;
        let is_moved =
            place.list == List::InitContainers && !place.is_added() && place.index >= added.start;
        place.index.saturating_add(if is_moved { added.len() } else { 0 })
    }
}

/// The images of the stored object's containers, by list and name. A container of a wrong shape is left out, so that it
/// counts as new.
fn stored_images<'r>(request: &Request<'r>) -> BTreeMap<(List, &'r str), &'r str> {
    let mut images = BTreeMap::new();
    for list in List::CONTAINERS {
        let containers = request.stored.get("spec").and_then(|spec| spec.get(list.name()));
        for container in containers.and_then(Value::as_array).into_iter().flatten() {
            let text = |key| container.get(key).and_then(Value::as_str);
            if let Some(name) = text("name") {
                images.insert((list, name), text(list.image_key()).unwrap_or_default());
            }
        }
    }
    images
}
