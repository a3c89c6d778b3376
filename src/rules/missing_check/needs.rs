//! Which places need an image check, and which images are covered by one.

use crate::examination::{Examination, Moment, Place, Role};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::settings::Form;

/// What decides whether the images of a Pod are covered.
pub(super) struct Needs<'e, 'o> {
    examination: &'e Examination<'o>,
    /// Whether an added check holds up the whole Pod, because it is an image volume.
    is_with_volumes: bool,
    /// When the first init container starts. None if the Pod has none.
    first_init: Option<Moment>,
    /// When the Pod's work begins: with the app containers. If added checks are image volumes,
    /// with the first init container, if there is one.
    work: Moment,
    /// When the first place starts that needs a check.
    first_needing: Moment,
    /// Whether only one app container is not exempt.
    has_one_app: bool,
}

impl<'e, 'o> Needs<'e, 'o> {
    pub(super) fn of(examination: &'e Examination<'o>) -> Self {
        let is_with_volumes = examination.settings.image_checks.form == Form::ImageVolume;
        let first_init = examination
            .first_init()
            .and_then(|(_, place)| place.start.moment());
        let mut needs = Self {
            examination,
            is_with_volumes,
            first_init,
            work: first_init
                .filter(|_| is_with_volumes)
                .unwrap_or(Moment::APPS),
            first_needing: Moment::APPS,
            has_one_app: apps(examination).count() == 1,
        };
        let places = examination.places.iter();
        let needing = places.filter(|place| place.takes_part() && needs.needs_check(place));
        let first = needing.filter_map(|place| place.start.moment()).min();
        needs.first_needing = first.unwrap_or(Moment::APPS);
        needs
    }

    /// The index of the first place of an image that needs a check, if the image is not covered.
    ///
    /// A check covers its image even if it is too weak: *weak-check* is about such checks.
    /// Which place is reported doesn't depend on strength, because *pull-once* may lower a place: a
    /// second run reports the same one.
    pub(super) fn uncovered(&self, places: &[usize]) -> Option<usize> {
        let needing = || {
            let places = self.examination.at(places);
            places.filter(|(_, place)| self.needs_check(place))
        };
        let strongest = needing().map(|(_, place)| place.policy.now).max()?;
        let mut pulls = self.examination.at(places);
        if pulls.any(|(_, place)| self.covers(place, strongest)) {
            return None;
        }
        let mut uncovered = needing().filter(|(_, place)| !self.holds_up_all(place));
        uncovered.next().map(|(index, _)| index)
    }

    /// Whether a place that takes part needs a check.
    fn needs_check(&self, place: &Place<'_>) -> bool {
        if place.is_check() {
            return false;
        }
        let is_after_first_init = self
            .first_init
            .is_some_and(|first| place.start.moment() > Some(first));
        match place.entry.list {
            List::Containers => true,
            List::InitContainers => self.is_with_volumes && is_after_first_init,
            List::Volumes => {
                let is_of_apps = place.start.moment() == Some(Moment::APPS);
                let mut mounters = self.examination.at(&place.mounted_by);
                self.is_with_volumes
                    && (is_of_apps || is_after_first_init)
                    && mounters.any(|(_, container)| container.role != Role::Exempt)
            }
            List::EphemeralContainers => false,
        }
    }

    /// Whether the pull of a place covers its image. `strongest` is the strongest pull policy of
    /// the places with this image that need a check.
    fn covers(&self, place: &Place<'_>, strongest: PullPolicy) -> bool {
        let is_check = place.is_check();
        let is_init = place.entry.list == List::InitContainers;
        // The controller's own checks stand behind the init container that brings their program.
        let is_early_check =
            is_check && is_init && place.start.followed_from() <= Some(self.first_needing);
        (is_check || (is_init && place.policy.now >= strongest))
            && (place.start.gates(self.work) || is_early_check)
    }

    /// Whether all app containers start with this place or not at all, and no init container does
    /// any work before. Native sidecars don't count.
    fn holds_up_all(&self, place: &Place<'_>) -> bool {
        let is_on_all = match place.entry.list {
            List::Volumes => place.start.gates(Moment::APPS),
            List::InitContainers | List::Containers | List::EphemeralContainers => self.has_one_app,
        };
        self.first_init.is_none() && is_on_all
    }
}

/// The indexes of the app containers that are not exempt.
pub(super) fn apps(examination: &Examination<'_>) -> impl Iterator<Item = usize> {
    let places = examination.places.iter().enumerate();
    places
        .filter(|(_, place)| place.entry.is_app())
        .map(|(index, _)| index)
}
