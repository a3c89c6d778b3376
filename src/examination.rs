//! The examination of one object: the state that the rules read and change.

mod additions;
mod finding;
mod place;
mod roles;
mod rule;
mod start_order;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) use self::additions::Additions;
pub(crate) use self::finding::{Effect, Finding, Findings, Reason, Subject};
pub(crate) use self::place::{Place, Role};
pub(crate) use self::rule::Rule;
pub(crate) use self::start_order::Moment;
use crate::json::{Wrong, lenient_list, lenient_string, member};
use crate::lookup::Failure;
use crate::pod::{List, Spec};
use crate::request::{Metadata, Operation, Request};
use crate::settings::{Action, Settings};

/// The examination of one object. Each rule works on the result of the rule before it.
///
/// The rules set the image and the pull policy that every place should have, and add findings with
/// the reasons. The mode decides later what happens to the findings. So the rules compute the same
/// places and findings in every mode.
pub(crate) struct Examination<'o> {
    pub(crate) request: &'o Request<'o>,
    /// The metadata of the Pod, or of the Pods that a pod template makes.
    pub(crate) metadata: Metadata<'o>,
    /// The Pod spec.
    pub(crate) spec: Spec<'o>,
    pub(crate) settings: &'o Settings,
    /// The containers and image volumes: init containers, app containers, ephemeral containers,
    /// image volumes, and then the checks that this policy adds.
    pub(crate) places: Vec<Place<'o>>,
    /// What the rules found, in the order of the rules.
    pub(crate) findings: Findings<'o>,
    /// The lookups that failed or were not made: the image as the host is asked for it, what was
    /// done, and why there is no digest. Sorted by image.
    pub(crate) failed_lookups: Vec<(String, Action, Failure)>,
    /// The added checks. None if there are none.
    pub(crate) additions: Option<Additions>,
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
            for (index, entry) in spec.entries(list)?.iter().enumerate() {
                places.push(Place::read(list, index, entry, entry, settings)?);
            }
        }
        for (index, volume) in spec.entries(List::Volumes)?.iter().enumerate() {
            if let Some(image) = member(volume, "image")? {
                places.push(Place::read(List::Volumes, index, volume, image, settings)?);
            }
        }
        roles::assign(&mut places, settings);
        let mut examination = Self {
            request,
            metadata,
            spec,
            settings,
            places,
            findings: Findings::default(),
            failed_lookups: Vec::new(),
            additions: None,
        };
        if !request.operation.is_before_start() {
            examination.compare_with_stored();
        }
        Ok(examination)
    }

    /// At UPDATE of a Pod, only init containers and app containers with another image than the
    /// stored one are examined, and pull policies are immutable. At UPDATE of
    /// `ephemeralcontainers`, only new ephemeral containers are examined.
    fn compare_with_stored(&mut self) {
        let operation = self.request.operation;
        let stored = stored_images(self.request);
        for place in &mut self.places {
            place.stored_image = stored.get(&(place.list, &*place.name)).copied();
            place.is_examined = match (operation, place.list) {
                (Operation::PodUpdate, List::InitContainers | List::Containers) => {
                    place.stored_image != Some(&*place.image.before)
                }
                (Operation::EphemeralUpdate, List::EphemeralContainers) => {
                    place.stored_image.is_none()
                }
                _ => false,
            };
            place.policy.is_immutable = operation == Operation::PodUpdate;
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

    /// The places that the rules after *invalid-image* examine, by their image: the images in the
    /// order of their first places, each with the indexes of its places.
    pub(crate) fn places_by_image(&self) -> Vec<Vec<usize>> {
        let mut images: BTreeMap<Cow<'_, str>, Vec<usize>> = BTreeMap::new();
        for (index, place) in self.places.iter().enumerate() {
            if place.takes_part() {
                images.entry(place.same_image()).or_default().push(index);
            }
        }
        let mut images: Vec<Vec<usize>> = images.into_values().collect();
        // The lists are disjoint, so their first indexes give the order.
        images.sort_unstable();
        images
    }

    /// The places with these indexes, each with its index.
    pub(crate) fn at<'e>(
        &'e self,
        indexes: &'e [usize],
    ) -> impl Iterator<Item = (usize, &'e Place<'o>)> {
        let place = |index: &usize| Some((*index, self.places.get(*index)?));
        indexes.iter().filter_map(place)
    }

    /// The first init container: the first that is neither a native sidecar nor exempt. With its
    /// index in `places`.
    pub(crate) fn first_init(&self) -> Option<(usize, &Place<'o>)> {
        let mut places = self.places.iter().enumerate();
        places.find(|(_, place)| place.ends() && place.role != Role::Exempt)
    }

    /// The name of the container that waits while the image of this place can't be pulled, as a
    /// sentence shows it.
    pub(crate) fn waiting<'e>(&'e self, place: &'e Place<'o>) -> Cow<'e, str> {
        let mounting = place.mounted_by.first();
        let container = mounting.and_then(|index| self.places.get(*index));
        container.unwrap_or(place).shown_name()
    }

    /// The index of a place in its list of the returned object. Added entries move the entries
    /// behind them.
    pub(crate) fn index_after(&self, place: &Place<'_>) -> usize {
        let moved_by = match &self.additions {
            Some(added) if added.list == place.list && added.first <= place.index => {
                added.entries.len()
            }
            _ => 0,
        };
        if place.is_added() {
            place.index
        } else {
            place.index.saturating_add(moved_by)
        }
    }
}

/// The images of the stored object's containers, by list and name. A container without a name is
/// left out. One without an image has an empty one.
fn stored_images<'r>(request: &Request<'r>) -> BTreeMap<(List, &'r str), &'r str> {
    let mut images = BTreeMap::new();
    let Some(spec) = request.stored.get("spec") else {
        return images;
    };
    for list in List::CONTAINERS {
        for container in lenient_list(spec, list.name()) {
            if let Some(name) = lenient_string(container, "name") {
                let image = lenient_string(container, list.image_key());
                images.insert((list, name), image.unwrap_or_default());
            }
        }
    }
    images
}
