//! What a new check is made of, and where in the Pod it goes.

use super::last_check;
use crate::image::Reference;
use crate::pattern::first_match;
use crate::pod::{Place, Pod, Slot};
use crate::rules::{Role, Work};
use crate::settings::{AddedCheckKind, Settings};

/// The folder in which the volumes of checks are mounted.
pub const MOUNTED_IN: &str = "/.imagecheck/";

/// What a new check is made of.
#[derive(Clone, Copy, Debug)]
pub enum MadeOf<'p> {
    /// A copy of this init container, with a name, an image and a policy of its own.
    Copy(&'p Place<'p>),
    /// `imageChecks.template`
    Template,
    /// An image volume.
    Volume,
}

impl PartialEq for MadeOf<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl<'p> MadeOf<'p> {
    /// What it is made of in the Pod of this work: as the settings say, a copy where there is one
    /// to copy. A Pod that has checks of volumes only gets one of them where there is no template,
    /// and where its containers carry them: behind an init container they would be none any more.
    pub(super) fn in_pod_of(work: &Work<'p>) -> Self {
        let settings = &work.settings.image_checks;
        let copied = match settings.made_of {
            AddedCheckKind::InitContainer => last_check(work),
            AddedCheckKind::ImageVolume => return Self::Volume,
        };
        let carried_by_containers = || {
            work.review.pod.list(Slot::InitContainer).next().is_none()
                && work.entries.iter().any(|entry| entry.role == Role::Check)
        };
        match (copied, &settings.template) {
            (Some(check), _) => Self::Copy(check),
            (None, Some(_)) if !carried_by_containers() => Self::Template,
            (None, _) => Self::Volume,
        }
    }
}

/// Where new init containers go: straight after the Pod's last check; in a Pod without one, after
/// the last init container that `imageChecks.after` names, else first.
#[derive(Clone, Copy, Debug)]
pub struct Position<'p> {
    /// The init container that they follow.
    pub after: Option<&'p Place<'p>>,
}

impl<'p> Position<'p> {
    /// The position in the Pod of this work.
    #[must_use]
    pub fn in_pod_of(work: &Work<'p>) -> Self {
        let patterns = &work.settings.image_checks.after;
        let is_named = |place: &&Place<'_>| patterns.iter().any(|p| p.matches(&place.name.value));
        let mut init_containers = work.review.pod.list(Slot::InitContainer).rev();
        Self {
            after: last_check(work).or_else(|| init_containers.find(is_named)),
        }
    }

    /// The index that the first new check gets among the init containers.
    #[must_use]
    pub fn index(&self) -> usize {
        self.after.map_or(0, |place| place.index.saturating_add(1))
    }
}

/// Who mounts the volumes of new checks: nothing starts before the first init container, and
/// without any each container has to wait for itself.
#[derive(Clone, Copy, Debug)]
pub enum Carriers<'p> {
    /// This init container.
    InitContainer(&'p Place<'p>),
    /// Every app container.
    Containers,
}

impl<'p> Carriers<'p> {
    /// The carriers in the Pod of this work.
    #[must_use]
    pub fn in_pod_of(work: &Work<'p>) -> Self {
        Self::among(work.review.pod.list(Slot::InitContainer), work.settings)
    }

    /// The first of these init containers that ends before the others start and is not exempt.
    /// Where there is none, a mount does no harm to the others, either.
    #[must_use]
    pub fn among(
        init_containers: impl Iterator<Item = &'p Place<'p>>,
        settings: &Settings,
    ) -> Self {
        let mut first = None;
        for place in init_containers {
            if !place.native_sidecar && !is_exempt(place, settings) {
                return Self::InitContainer(place);
            }
            first = first.or(Some(place));
        }
        first.map_or(Self::Containers, Self::InitContainer)
    }

    /// The containers that they are.
    pub fn places(self, pod: &'p Pod<'p>) -> impl Iterator<Item = &'p Place<'p>> {
        let (one, all) = match self {
            Self::InitContainer(place) => (Some(place), None),
            Self::Containers => (None, Some(pod.list(Slot::Container))),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }
}

/// Whether a container is never examined, by its name or its image.
fn is_exempt(place: &Place<'_>, settings: &Settings) -> bool {
    let by_image = || {
        !settings.exempt.images.is_empty()
            && Reference::parse(place.image_text())
                .is_ok_and(|image| first_match(&settings.exempt.images, &image).is_some())
    };
    settings.exempt.container(&place.name.value) || by_image()
}
