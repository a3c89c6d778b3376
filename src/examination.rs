//! The examination of one object: the state that the rules read and change.

mod additions;
mod finding;
mod place;
mod roles;
mod rule;
mod start_order;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) use self::additions::{Additions, Check};
pub(crate) use self::finding::{Effect, Finding, Findings, Reason, Subject};
pub(crate) use self::place::{Entry, Place, Role};
use self::roles::places;
pub(crate) use self::rule::Rule;
pub(crate) use self::start_order::{Moment, Pull, strongest_after_checks};
use crate::json::{Wrong, lenient_list, lenient_string};
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
    /// The containers and image volumes of the request: init containers, app containers, ephemeral
    /// containers, image volumes.
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
        let mut entries = Vec::new();
        for list in List::ALL {
            for (index, value) in spec.entries(list)?.iter().enumerate() {
                if let Some(source) = list.source(value)? {
                    entries.push(Entry::read(list, index, value, source, settings)?);
                }
            }
        }
        let operation = request.operation;
        let stored = stored_images(request);
        let places = places(entries, settings, |entry| {
            let image = stored.get(&(entry.list, entry.name)).copied();
            (image, is_examined(operation, entry, image))
        });
        Ok(Self {
            request,
            metadata,
            spec,
            settings,
            places,
            findings: Findings::default(),
            failed_lookups: Vec::new(),
            additions: None,
        })
    }

    /// Whether the rules have anything to examine.
    pub(crate) fn is_needed(&self) -> bool {
        self.places.iter().any(|place| place.is_examined)
    }

    /// Whether the Pod has, or gets, an image check.
    pub(crate) fn has_checks(&self) -> bool {
        self.additions.is_some() || self.places.iter().any(Place::is_check)
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
        places.find(|(_, place)| place.entry.ends() && place.role != Role::Exempt)
    }

    /// The name of the container that waits while the image of this place can't be pulled, as a
    /// sentence shows it.
    pub(crate) fn waiting<'e>(&'e self, place: &'e Place<'o>) -> Cow<'e, str> {
        let mounting = place.mounted_by.first();
        let container = mounting.and_then(|index| self.places.get(*index));
        container.unwrap_or(place).shown_name()
    }

    /// The index of an entry in its list of the returned object. Added entries move the entries
    /// behind them.
    pub(crate) fn index_after(&self, entry: &Entry<'_>) -> usize {
        let moved_by = match &self.additions {
            Some(added) if added.list == entry.list && added.first <= entry.index => {
                added.checks.len()
            }
            _ => 0,
        };
        entry.index.saturating_add(moved_by)
    }
}

/// Whether the rules examine an entry with this stored image. At UPDATE of a Pod, these are the
/// init containers and app containers with another image than the stored one, and at UPDATE of
/// `ephemeralcontainers`, the new ephemeral containers.
fn is_examined(operation: Operation, entry: &Entry<'_>, stored_image: Option<&str>) -> bool {
    let is_of = |lists: &[List]| lists.contains(&entry.list);
    match operation {
        Operation::PodCreate | Operation::Template => true,
        Operation::PodUpdate => {
            is_of(&[List::InitContainers, List::Containers]) && stored_image != Some(entry.image)
        }
        Operation::EphemeralUpdate => is_of(&[List::EphemeralContainers]) && stored_image.is_none(),
    }
}

/// The images of the stored object's containers, by list and name. A container without a name is
/// left out. One without an image has an empty one.
fn stored_images<'r>(request: &Request<'r>) -> BTreeMap<(List, &'r str), &'r str> {
    let mut images = BTreeMap::new();
    let Some(spec) = request.stored.get("spec") else {
        return images;
    };
    for list in List::ALL {
        for container in lenient_list(spec, list.name()) {
            if let Some(name) = lenient_string(container, "name") {
                let image = lenient_string(container, list.image_key());
                images.insert((list, name), image.unwrap_or_default());
            }
        }
    }
    images
}
