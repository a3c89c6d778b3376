//! Coverage: who pulls each image before a guarded place needs it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::place::Place;
use super::roles::Role;
use crate::image::PullPolicy;
use crate::pod::List;

/// The images of a Pod, in the order of their first place. It is worked out once, when all images are known: no later rule
/// changes an image, or whether an image is covered.
pub(crate) struct Coverage {
    /// The images.
    pub(crate) images: Vec<Pulls>,
    /// Whether one app container is the only place, so that nothing starts before its image is pulled.
    has_one_place: bool,
}

/// The places that pull one image. The numbers are indexes of places.
#[derive(Default)]
pub(crate) struct Pulls {
    /// The image checks.
    pub(crate) checks: Vec<usize>,
    /// The first of the strongest guarded places.
    pub(crate) strongest: Option<usize>,
    /// The strongest pull policy of the guarded places.
    pub(crate) needed: Option<PullPolicy>,
    /// The index of the first init container that is a check or mounts one.
    first_checked: Option<usize>,
    /// The index of the first init container that is guarded, or that mounts a guarded volume first.
    first_needed: Option<usize>,
    /// The strongest pull policy of the init containers that end before anything guarded starts, without checks.
    by_init_containers: Option<PullPolicy>,
}

impl Coverage {
    /// The coverage of these places.
    pub(crate) fn of(places: &[Place<'_>]) -> Self {
        let mut numbers: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
        let mut images: Vec<Pulls> = Vec::new();
        for (index, place) in places.iter().enumerate().filter(|(_, place)| place.takes_part()) {
            let number = *numbers.entry(place.same_image()).or_insert(images.len());
            if number == images.len() {
                images.push(Pulls::default());
            }
            if let Some(pulls) = images.get_mut(number) {
                pulls.add(index, place);
            }
        }
        Self { images, has_one_place: has_one_place(places) }
    }

    /// Whether an image is covered, or nothing guarded pulls it. A check covers an image even if it is too weak:
    /// *weak-check* is about such checks.
    pub(crate) fn covers(&self, pulls: &Pulls) -> bool {
        self.has_one_place
            || pulls.needed.is_none()
            || pulls.has_check_in_time()
            || pulls.by_init_containers >= pulls.needed
    }
}

impl Pulls {
    fn add(&mut self, index: usize, place: &Place<'_>) {
        // The init container with which this place is pulled. None for all that is pulled with the app containers.
        let is_init = place.list == List::InitContainers;
        let init = if is_init { Some(place.index) } else { place.carriers.first_init };
        let policy = Some(place.policy.now);
        match place.role {
            Role::Check => {
                self.checks.push(index);
                self.first_checked = earlier(self.first_checked, init);
            }
            Role::InitContainer => self.by_init_containers = self.by_init_containers.max(policy),
            Role::Guarded => {
                self.first_needed = earlier(self.first_needed, init);
                if self.needed < policy {
                    self.needed = policy;
                    self.strongest = Some(index);
                }
            }
            Role::Exempt | Role::Invalid | Role::Other => {}
        }
    }

    /// Whether a check pulls the image before the first guarded place needs it.
    fn has_check_in_time(&self) -> bool {
        let is_in_time = |needed| self.first_checked.is_some_and(|checked| checked < needed);
        !self.checks.is_empty() && self.first_needed.is_none_or(is_in_time)
    }
}

/// The smaller of two indexes, if there are any.
fn earlier(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one.into_iter().chain(other).min()
}

/// Whether the Pod, without exempt places and native sidecars, has one app container, no init container and no image
/// volume. An ephemeral container starts after the app containers.
fn has_one_place(places: &[Place<'_>]) -> bool {
    let counts = |place: &&Place<'_>| {
        let is_left_out = place.role == Role::Exempt || place.is_native_sidecar;
        !is_left_out && place.list != List::EphemeralContainers
    };
    let mut lists = places.iter().filter(counts).map(|place| place.list);
    lists.next() == Some(List::Containers) && lists.next().is_none()
}
