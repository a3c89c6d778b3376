//! Coverage: who pulls each image, and which images nothing pulls before the app starts.
//!
//! Two references are the same image if their identities ([`ImageIdentity`]) are equal. A node is
//! stricter: it remembers pulls by the written repository (`KubeletEnsureSecretPulledImages`), and
//! asks the registry again for another spelling. So the places of one image are parted by the written
//! repository too.

use std::collections::BTreeMap;

use super::Examination;
use super::examined_place::ExaminedPlace;
use super::leniency_of_copy;
use super::role::Role;
use crate::image::ImageIdentity;
use crate::pod_spec::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;

/// The images of a Pod. It is worked out once, when all images are known: no later rule changes an image, and no
/// later rule changes whether an image is covered.
pub(crate) struct Coverage {
    /// The images, in the order of the Pod. One image in two spellings has two entries.
    pub(crate) images: Vec<PulledImage>,
    /// The checks of each image in any spelling. [`PulledImage::image`] is the index.
    in_any_spelling: Vec<ImageChecks>,
    /// The index in `images` for each examined place.
    pub(super) image_of_place: Vec<usize>,
    /// Whether the only place needs no check.
    has_only_one_place: bool,
    /// In the copy, the images that may be the same. They are asked only where the answer removes a finding.
    pub(super) possibly_same: Option<Box<Coverage>>,
}

/// An image that is written alike, and who pulls it. The numbers are indexes of examined places.
#[derive(Default)]
pub(crate) struct PulledImage {
    /// The number of the image, the same for all spellings.
    image: usize,
    /// All guarded places.
    pub(crate) guarded_places: Vec<usize>,
    /// The image checks.
    pub(crate) checks: ImageChecks,
    /// The strongest pull policy of the other init containers, without native sidecars.
    by_init_containers: Option<PullPolicy>,
    /// The first of the strongest guarded places, and its pull policy.
    pub(crate) guarded: Option<(usize, PullPolicy)>,
    /// Whether a place has pulled the image with `Always` before the app containers start.
    is_pulled: bool,
}

/// Image checks of one image.
#[derive(Default)]
pub(crate) struct ImageChecks {
    /// The indexes of the examined places.
    pub(crate) places: Vec<usize>,
    /// The strongest pull policy.
    strongest: Option<PullPolicy>,
}

impl ImageChecks {
    fn add(&mut self, place: usize, policy: PullPolicy) {
        self.places.push(place);
        self.strongest = self.strongest.max(Some(policy));
    }
}

impl PulledImage {
    fn add(&mut self, place: usize, examined: &ExaminedPlace<'_>) {
        match examined.role {
            Role::ImageCheck => self.checks.add(place, examined.policy),
            Role::InitContainer => {
                self.by_init_containers = self.by_init_containers.max(Some(examined.policy));
            }
            Role::Guarded => {
                self.guarded_places.push(place);
                if self
                    .guarded
                    .is_none_or(|(_, policy)| policy < examined.policy)
                {
                    self.guarded = Some((place, examined.policy));
                }
            }
            Role::Unguarded => {}
        }
    }

    fn covers(&self, needed: PullPolicy) -> bool {
        !self.checks.places.is_empty() || self.by_init_containers >= Some(needed)
    }
}

impl Coverage {
    /// The coverage of the examined places.
    pub(crate) fn of(examination: &Examination<'_>) -> Self {
        let places = &examination.places;
        Self {
            has_only_one_place: has_only_one_place(examination),
            possibly_same: leniency_of_copy::possibly_same_images(examination),
            ..Self::by_identity(places, |examined| examined.identity())
        }
    }

    /// The images of the places. Two places have the same image if their identities are equal.
    pub(super) fn by_identity<'e>(
        places: &'e [ExaminedPlace<'_>],
        identity: impl Fn(&'e ExaminedPlace<'_>) -> ImageIdentity<'e>,
    ) -> Self {
        let mut numbers: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
        let mut indexes: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut coverage = Self {
            images: Vec::new(),
            in_any_spelling: Vec::new(),
            image_of_place: Vec::with_capacity(places.len()),
            has_only_one_place: false,
            possibly_same: None,
        };
        for (place, examined) in places.iter().enumerate() {
            let next = numbers.len();
            let image = *numbers.entry(identity(examined)).or_insert(next);
            if image == next {
                coverage.in_any_spelling.push(ImageChecks::default());
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
            if let Some(checks) = coverage.in_any_spelling.get_mut(image)
                && examined.role == Role::ImageCheck
            {
                checks.add(place, examined.policy);
            }
        }
        coverage
    }

    /// Whether the image is covered, or nothing guarded pulls it. A check covers an image even if it is too weak:
    /// *weak-check* is about such checks.
    pub(crate) fn is_covered(&self, pulled: &PulledImage) -> bool {
        self.has_only_one_place
            || pulled.guarded.is_none_or(|(_, needed)| {
                pulled.covers(needed) || self.may_be(pulled).any(|same| same.covers(needed))
            })
    }

    /// The checks of an image in any spelling.
    pub(crate) fn in_any_spelling(&self, pulled: &PulledImage) -> Option<&ImageChecks> {
        self.in_any_spelling.get(pulled.image)
    }

    /// The checks of the containers that pull this image: those written alike. If there are none, and the image is
    /// not covered, these are the checks of the image in any spelling.
    pub(crate) fn checks_of<'c>(&'c self, pulled: &'c PulledImage) -> Option<&'c ImageChecks> {
        if self.needs_other_spelling(pulled) {
            self.in_any_spelling(pulled)
        } else {
            Some(&pulled.checks)
        }
    }

    fn needs_other_spelling(&self, pulled: &PulledImage) -> bool {
        pulled.checks.places.is_empty() && !self.is_covered(pulled)
    }

    /// Whether a check of the containers that pull this image is at least as strong as they need.
    pub(crate) fn has_strong_check(&self, pulled: &PulledImage, needed: PullPolicy) -> bool {
        let is_strong = |checks: &ImageChecks| checks.strongest >= Some(needed);
        self.checks_of(pulled).is_some_and(is_strong)
            || self.may_be_checked(pulled, self.needs_other_spelling(pulled), is_strong)
    }

    /// Remembers that a check is raised.
    pub(crate) fn raise(&mut self, check: usize, policy: PullPolicy) {
        if let Some(index) = self.image_of_place.get(check)
            && let Some(pulled) = self.images.get_mut(*index)
        {
            pulled.checks.strongest = pulled.checks.strongest.max(Some(policy));
            if let Some(checks) = self.in_any_spelling.get_mut(pulled.image) {
                checks.strongest = checks.strongest.max(Some(policy));
            }
        }
        if let Some(same) = &mut self.possibly_same {
            same.raise(check, policy);
        }
    }

    /// Remembers that a place has pulled its image with `Always` before the app containers start.
    pub(crate) fn mark_pulled(&mut self, place: usize) {
        let index = self.image_of_place.get(place);
        if let Some(pulled) = index.and_then(|index| self.images.get_mut(*index)) {
            pulled.is_pulled = true;
        }
        if let Some(same) = &mut self.possibly_same {
            same.mark_pulled(place);
        }
    }

    /// The guarded places whose image was pulled with `Always` before the app containers start.
    pub(crate) fn places_of_pulled_images(&self) -> impl Iterator<Item = usize> {
        let is_pulled = |pulled: &&PulledImage| {
            pulled.is_pulled || self.may_be(pulled).any(|same| same.is_pulled)
        };
        let images = self.images.iter().filter(is_pulled);
        images.flat_map(|pulled| pulled.guarded_places.iter().copied())
    }
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
