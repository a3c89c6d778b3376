//! The source of an added image check, and its position among the init containers.

use super::check_volume::CheckVolumeCarriers;
use super::examined_place::{ExaminedPlace, Role};
use crate::pod::{ContainerOrVolume, Pod, PodList};
use crate::pull_policy::PullPolicy;
use crate::settings::{AddedCheckKind, Settings};

/// The source of an added image check.
#[derive(Clone, Copy, Debug)]
pub enum CheckSource<'p> {
    /// A copy of this init container, with another name, image and pull policy.
    CopyOf(&'p ContainerOrVolume<'p>),
    /// `imageChecks.template`
    Template,
    /// An image volume.
    ImageVolume,
}

impl<'p> CheckSource<'p> {
    /// The source in a Pod: as the settings say, and a copy if there is a check to copy.
    ///
    /// Without a template, a Pod that has only check volumes gets another check volume. So does a
    /// Pod whose app containers carry its check volumes: behind an added init container these
    /// would be no checks any more.
    #[must_use]
    pub fn in_pod(pod: &Pod<'p>, settings: &Settings, places: &[ExaminedPlace<'p>]) -> Self {
        let settings = &settings.image_checks;
        let copied = match settings.made_of {
            AddedCheckKind::InitContainer => last_init_container_check(places),
            AddedCheckKind::ImageVolume => return Self::ImageVolume,
        };
        let app_containers_carry_checks =
            || !pod.has_init_containers() && places.iter().any(|one| one.role == Role::ImageCheck);
        match (copied, &settings.template) {
            (Some(check), _) => Self::CopyOf(check),
            (None, Some(_)) if !app_containers_carry_checks() => Self::Template,
            (None, _) => Self::ImageVolume,
        }
    }

    /// Whether it makes an image volume, and not an init container.
    #[must_use]
    pub const fn is_image_volume(&self) -> bool {
        matches!(self, Self::ImageVolume)
    }

    /// Whether every app container of the Pod would mount the volume that it makes.
    #[must_use]
    pub fn is_mounted_by_app_containers(&self, pod: &'p Pod<'p>, settings: &Settings) -> bool {
        self.is_image_volume()
            && matches!(
                CheckVolumeCarriers::in_pod(pod, settings),
                CheckVolumeCarriers::AppContainers
            )
    }
}

/// The last image check of a Pod that is an init container.
fn last_init_container_check<'p>(
    places: &[ExaminedPlace<'p>],
) -> Option<&'p ContainerOrVolume<'p>> {
    let is_check = |one: &&ExaminedPlace<'p>| {
        one.role == Role::ImageCheck && one.place.list == PodList::InitContainers
    };
    places.iter().rev().find(is_check).map(|one| one.place)
}

/// The position of added init containers: straight after the Pod's last check. In a Pod without a
/// check it is after the last init container that `imageChecks.after` names, else first.
#[derive(Clone, Copy, Debug, Default)]
pub struct InsertPosition<'p> {
    /// The init container before them. None if they come first.
    pub after: Option<&'p ContainerOrVolume<'p>>,
}

impl<'p> InsertPosition<'p> {
    /// The position in a Pod.
    #[must_use]
    pub fn in_pod(pod: &'p Pod<'p>, settings: &Settings, places: &[ExaminedPlace<'p>]) -> Self {
        let patterns = &settings.image_checks.after;
        let is_named = |place: &&ContainerOrVolume<'_>| {
            patterns.iter().any(|one| one.matches(&place.name.value))
        };
        let mut init_containers = pod.list(PodList::InitContainers).rev();
        Self {
            after: last_init_container_check(places).or_else(|| init_containers.find(is_named)),
        }
    }

    /// The index of the first added init container.
    #[must_use]
    pub fn index(&self) -> usize {
        self.after.map_or(0, |place| place.index.saturating_add(1))
    }
}

/// An image check that is added.
#[derive(Clone, Debug)]
pub struct AddedCheck<'p> {
    /// Its name. Nothing else in the Pod has it.
    pub name: String,
    /// Its image: that of the container, written alike.
    pub image: String,
    /// Its pull policy.
    pub policy: PullPolicy,
    /// Its source.
    pub source: CheckSource<'p>,
    /// The index of the examined place that it guards.
    pub guarded: usize,
    /// The container that it guards.
    pub place: &'p ContainerOrVolume<'p>,
    /// The image of a check that writes the same image differently, if there is one.
    pub written_differently: Option<&'p str>,
}
