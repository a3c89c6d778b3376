//! Coverage: who pulls each image, and which images nothing pulls before the app starts.
//!
//! Two references are the same image if their identities ([`ImageIdentity`]) are equal. A node is
//! stricter: it remembers pulls by the written repository (`KubeletEnsureSecretPulledImages`), and
//! asks the registry again for another spelling. So the places of one image are parted by the written
//! repository too.

use std::collections::BTreeMap;

use super::Examination;
use super::examined_place::ExaminedPlace;
use super::role::Role;
use super::validating_copy;
use crate::image::ImageIdentity;
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;

/// The images of a Pod. It is worked out once, when all images are known: no later rule changes an image, and no
/// later rule changes whether an image is covered.
pub(crate) struct Coverage {
    /// The images, in the order of the Pod. One image in two spellings has two entries.
    pub(crate) images: Vec<PulledImage>,
    /// The checks of each image in any spelling. [`PulledImage::image`] is the index.
    checks_in_any_spelling: Vec<Vec<usize>>,
    /// The index in `images` for each examined place.
    image_of_place: Vec<usize>,
    /// In the copy, the images that may be the same. They are asked only where the answer removes a finding.
    possibly_same: Option<Box<Coverage>>,
}

/// Who pulls an image, written alike. The numbers are indexes of examined places.
#[derive(Default)]
pub(crate) struct PulledImage {
    /// The number of the image, the same for all spellings.
    image: usize,
    /// The image checks.
    pub(crate) checks: Vec<usize>,
    /// The other init containers, without native sidecars.
    init_containers: Vec<usize>,
    /// The first of the strongest guarded places, and its pull policy.
    pub(crate) guarded: Option<(usize, PullPolicy)>,
    /// Whether the image is covered, or nothing guarded pulls it. A check covers an image even if it is too weak:
    /// *weak-check* is about such checks.
    pub(crate) is_covered: bool,
}

impl PulledImage {
    fn add(&mut self, place: usize, examined: &ExaminedPlace<'_>) {
        match examined.role {
            Role::ImageCheck => self.checks.push(place),
            Role::InitContainer => self.init_containers.push(place),
            Role::Guarded => match self.guarded {
                Some((_, policy)) if policy >= examined.policy => {}
                _ => self.guarded = Some((place, examined.policy)),
            },
            Role::Unguarded => {}
        }
    }

    fn covers(&self, places: &[ExaminedPlace<'_>], needed: PullPolicy) -> bool {
        !self.checks.is_empty() || strongest(places, &self.init_containers) >= Some(needed)
    }
}

impl Coverage {
    /// The coverage of the examined places.
    pub(crate) fn of(examination: &Examination<'_>) -> Self {
        let places = &examination.places;
        let mut coverage = Self::by_identity(places, ExaminedPlace::identity);
        if examination.settings.validating_copy {
            let same = Self::by_identity(places, validating_copy::identity_without_digest);
            for pulled in &mut coverage.images {
                let also = |(place, needed)| {
                    let pulled = same.image_of(place);
                    pulled.is_some_and(|pulled| pulled.covers(places, needed))
                };
                pulled.is_covered |= pulled.guarded.is_some_and(also);
            }
            coverage.possibly_same = Some(Box::new(same));
        }
        if has_only_one_place(examination) {
            for pulled in &mut coverage.images {
                pulled.is_covered = true;
            }
        }
        coverage
    }

    /// The images of the places. Two places have the same image if their identities are equal.
    fn by_identity<'e, 'p>(
        places: &'e [ExaminedPlace<'p>],
        identity: impl Fn(&'e ExaminedPlace<'p>) -> ImageIdentity<'e>,
    ) -> Self {
        let mut numbers: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
        let mut indexes: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut coverage = Self {
            images: Vec::new(),
            checks_in_any_spelling: Vec::new(),
            image_of_place: Vec::with_capacity(places.len()),
            possibly_same: None,
        };
        for (place, examined) in places.iter().enumerate() {
            let next = numbers.len();
            let image = *numbers.entry(identity(examined)).or_insert(next);
            if image == next {
                coverage.checks_in_any_spelling.push(Vec::new());
            }
            let next = indexes.len();
            let written = examined.reference.written();
            let index = *indexes.entry((image, written)).or_insert(next);
            if index == next {
                let pulled = PulledImage::default();
                coverage.images.push(PulledImage { image, ..pulled });
            }
            coverage.image_of_place.push(index);
            if let Some(pulled) = coverage.images.get_mut(index) {
                pulled.add(place, examined);
            }
            if let Some(checks) = coverage.checks_in_any_spelling.get_mut(image)
                && examined.role == Role::ImageCheck
            {
                checks.push(place);
            }
        }
        for pulled in &mut coverage.images {
            let guarded = pulled.guarded;
            pulled.is_covered = guarded.is_none_or(|(_, needed)| pulled.covers(places, needed));
        }
        coverage
    }

    /// The image of an examined place.
    fn image_of(&self, place: usize) -> Option<&PulledImage> {
        self.images.get(*self.image_of_place.get(place)?)
    }

    /// The checks of an image in any spelling.
    pub(crate) fn in_any_spelling(&self, pulled: &PulledImage) -> &[usize] {
        let checks = self.checks_in_any_spelling.get(pulled.image);
        checks.map(Vec::as_slice).unwrap_or_default()
    }

    /// The checks of the containers that pull this image: those written alike. If there are none, and the image is
    /// not covered, these are the checks of the image in any spelling.
    pub(crate) fn checks_of<'c>(&'c self, pulled: &'c PulledImage) -> &'c [usize] {
        if pulled.checks.is_empty() && !pulled.is_covered {
            self.in_any_spelling(pulled)
        } else {
            &pulled.checks
        }
    }

    /// Whether a check of a guarded place is strong enough.
    pub(crate) fn has_strong_check(
        &self,
        places: &[ExaminedPlace<'_>],
        guarded: usize,
        needed: PullPolicy,
    ) -> bool {
        self.with_possibly_same().any(|coverage| {
            let checks = coverage
                .image_of(guarded)
                .map(|one| coverage.checks_of(one));
            strongest(places, checks.unwrap_or_default()) >= Some(needed)
        })
    }

    /// Whether each place pulls the image of one of the places `pulling`, written alike.
    pub(crate) fn pull_the_same(&self, pulling: &[usize]) -> Vec<bool> {
        let mut same = vec![false; self.image_of_place.len()];
        for coverage in self.with_possibly_same() {
            let mut is_pulled = vec![false; coverage.images.len()];
            for place in pulling {
                let image = coverage.image_of_place.get(*place);
                if let Some(is_pulled) = image.and_then(|image| is_pulled.get_mut(*image)) {
                    *is_pulled = true;
                }
            }
            for (same, image) in same.iter_mut().zip(&coverage.image_of_place) {
                *same |= is_pulled.get(*image).is_some_and(|is_pulled| *is_pulled);
            }
        }
        same
    }

    /// This coverage, and in the copy that of the images that may be the same.
    fn with_possibly_same(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.possibly_same.as_deref())
    }
}

/// The strongest pull policy of these places. None if there are none.
fn strongest(places: &[ExaminedPlace<'_>], indexes: &[usize]) -> Option<PullPolicy> {
    let places = indexes.iter().filter_map(|index| places.get(*index));
    places.map(|examined| examined.policy).max()
}

/// Whether one app container is the only place that is not exempt, not a native sidecar and not an
/// ephemeral container. No other container runs while this container waits for its image, so it needs
/// no check. An ephemeral container starts after the app containers.
fn has_only_one_place(examination: &Examination<'_>) -> bool {
    let is_other = |place: &Place<'_>| match place.list {
        PodSpecList::InitContainers => !place.is_native_sidecar,
        PodSpecList::Volumes => true,
        PodSpecList::Containers | PodSpecList::EphemeralContainers => false,
    };
    examination.has_one_app_container() && !examination.places_not_exempt().any(is_other)
}
