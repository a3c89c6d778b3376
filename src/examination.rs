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
pub(crate) use self::start_order::{Followers, Moment, Start, Work};
use crate::json::{Wrong, elements, member, text};
use crate::lookup::Failure;
use crate::pod::{List, Spec, mounts};
use crate::request::{Metadata, Operation, Request};
use crate::settings::{Action, Form, Settings};

/// The examination of one object. Each rule works on the result of the rule before it.
///
/// The rules set the image and the pull policy that every place should have, and add findings with the reasons. The mode
/// decides later what happens to the findings. So all modes compute the same outcome.
pub(crate) struct Examination<'o> {
    pub(crate) request: &'o Request<'o>,
    /// The metadata of the object.
    pub(crate) metadata: Metadata<'o>,
    /// The Pod spec.
    pub(crate) spec: Spec<'o>,
    pub(crate) settings: &'o Settings,
    /// The containers and image volumes: init containers, app containers, ephemeral containers, image volumes, and then
    /// the checks that this policy adds.
    pub(crate) places: Vec<Place<'o>>,
    /// The index of the first init container: the first that is neither a native sidecar nor exempt.
    pub(crate) first_init: Option<usize>,
    /// What the rules found, in the order of the rules.
    pub(crate) findings: Findings<'o>,
    /// The lookups that failed or were not made: the normalised image and what was done about it, and why there is no
    /// answer.
    pub(crate) failed_lookups: BTreeMap<(String, Action), Failure>,
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
                place.mounts = place.entry().map(mounts).transpose()?.unwrap_or_default();
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
            findings: Findings::default(),
            failed_lookups: BTreeMap::new(),
            additions: None,
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
            let image = stored.get(&(place.list, &*place.name));
            place.is_examined = match (operation, place.list) {
                (Operation::PodUpdate, List::InitContainers | List::Containers) => {
                    image != Some(&&*place.image.before)
                }
                (Operation::EphemeralUpdate, List::EphemeralContainers) => image.is_none(),
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

    /// The places of which the rules after *invalid-image* examine the image, by their image: the images in the order of
    /// their first places, each with the indexes of its places.
    pub(crate) fn places_by_image(&self) -> Vec<Vec<usize>> {
        let mut images: BTreeMap<Cow<'_, str>, Vec<usize>> = BTreeMap::new();
        for (index, place) in self
            .places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.takes_part())
        {
            images.entry(place.same_image()).or_default().push(index);
        }
        let mut images: Vec<Vec<usize>> = images.into_values().collect();
        // Each index is in one list, so the first indexes decide.
        images.sort_unstable();
        images
    }

    /// The places with these indexes.
    pub(crate) fn at<'e>(
        &'e self,
        indexes: &'e [usize],
    ) -> impl DoubleEndedIterator<Item = (usize, &'e Place<'o>)> {
        indexes
            .iter()
            .filter_map(|index| Some((*index, self.places.get(*index)?)))
    }

    /// Those of the places with these indexes that have a role.
    pub(crate) fn with_role<'e>(
        &'e self,
        indexes: &'e [usize],
        role: Role,
    ) -> impl DoubleEndedIterator<Item = (usize, &'e Place<'o>)> {
        self.at(indexes)
            .filter(move |(_, place)| place.role == role)
    }

    /// The name of the container that waits while the image of this place can't be pulled.
    pub(crate) fn waiting(&self, place: usize) -> String {
        let place = self.places.get(place);
        let container = place.and_then(|place| self.places.get(place.starts_with?));
        container
            .or(place)
            .map(|place| place.name.to_string())
            .unwrap_or_default()
    }

    /// When the first init container starts, or the app containers if there is none.
    pub(crate) fn first_start(&self) -> Moment {
        let first_init = self.first_init.and_then(|index| self.places.get(index));
        first_init
            .and_then(|container| container.start.moment)
            .unwrap_or(Moment::APPS)
    }

    /// When the Pod's work begins: with the app containers. If added checks are image volumes, it begins with the first init
    /// container, if there is one.
    pub(crate) fn work(&self) -> Work {
        let is_with_init = self.settings.image_checks.form == Form::ImageVolume;
        let guarded = self
            .places
            .iter()
            .filter(|place| place.role == Role::Guarded);
        let first_guarded = guarded.filter_map(|place| place.start.moment).min();
        Work {
            begins: if is_with_init {
                self.first_start()
            } else {
                Moment::APPS
            },
            first_guarded: first_guarded.unwrap_or(Moment::APPS),
        }
    }

    /// The index of a place in its list of the returned object. Added entries move those behind them.
    pub(crate) fn index_after(&self, place: &Place<'_>) -> usize {
        match &self.additions {
            Some(additions) if !place.is_added() => additions.moved(place.list, place.index()),
            _ => place.index(),
        }
    }
}

/// The images of the stored object's containers, by list and name. A container of a wrong shape is left out, so that it
/// counts as new.
fn stored_images<'r>(request: &Request<'r>) -> BTreeMap<(List, &'r str), &'r str> {
    let mut images = BTreeMap::new();
    let Some(spec) = request.stored.get("spec") else {
        return images;
    };
    for list in List::CONTAINERS {
        for container in elements(spec, list.name()) {
            if let Some(name) = text(container, "name") {
                images.insert(
                    (list, name),
                    text(container, list.image_key()).unwrap_or_default(),
                );
            }
        }
    }
    images
}
