//! Groups the places of a Pod: by their image, and by their image and its spelling.
//!
//! Two references are the same image if their identities ([`ImageIdentity`]) are equal. A node is
//! stricter: it remembers pulls by the written repository (`KubeletEnsureSecretPulledImages`), and
//! asks the registry again for another spelling. So the rules also need the groups by spelling.

use std::collections::BTreeMap;

use super::place::{ExaminedPlace, Role};
use crate::image::ImageIdentity;
use crate::pull_policy::PullPolicy;

/// The images of a list of places, and the spellings of each image. Images and spellings are
/// numbered in the order in which they first appear. `nginx:1` and `nginx:2` are two images, so
/// their repository counts as two spellings.
#[derive(Clone, Debug)]
pub(crate) struct ImageGroups {
    /// The number of the spelling of each place.
    spellings: Vec<usize>,
    /// The number of the image of each spelling.
    images: Vec<usize>,
    image_count: usize,
}

impl ImageGroups {
    /// Compares the images of all places.
    pub(crate) fn of(places: &[ExaminedPlace<'_>]) -> Self {
        let mut numbers: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
        let mut spelled: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut images = Vec::new();
        let spellings = places
            .iter()
            .map(|examined| {
                let next = numbers.len();
                let image = *numbers.entry(examined.identity()).or_insert(next);
                let next = spelled.len();
                *spelled
                    .entry((image, examined.reference.written()))
                    .or_insert_with(|| {
                        images.push(image);
                        next
                    })
            })
            .collect();
        Self {
            spellings,
            images,
            image_count: numbers.len(),
        }
    }

    /// How many different images there are.
    pub(crate) const fn image_count(&self) -> usize {
        self.image_count
    }

    /// The number of the spelling of each place, in the order of the places.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = usize> + '_ {
        self.spellings.iter().copied()
    }

    /// The number of the image of each place, in the order of the places.
    pub(crate) fn images(&self) -> impl Iterator<Item = usize> + '_ {
        self.spellings()
            .map(|spelling| self.images.get(spelling).copied().unwrap_or_default())
    }

    /// The number of the spelling of one place.
    pub(crate) fn spelling(&self, place: usize) -> Option<usize> {
        self.spellings.get(place).copied()
    }

    /// The pulls of each spelling.
    pub(crate) fn pulls(&self, places: &[ExaminedPlace<'_>]) -> Vec<PullsOfSpelling> {
        let mut pulls: Vec<PullsOfSpelling> = self
            .images
            .iter()
            .map(|image| PullsOfSpelling {
                image: *image,
                ..PullsOfSpelling::default()
            })
            .collect();
        for (index, (examined, spelling)) in places.iter().zip(self.spellings()).enumerate() {
            if let Some(pulls) = pulls.get_mut(spelling) {
                pulls.add(index, examined);
            }
        }
        pulls
    }

    /// The checks of each image, in any spelling.
    pub(crate) fn checks(&self, pulls: &[PullsOfSpelling]) -> Vec<ChecksOfImage> {
        let mut checks = vec![ChecksOfImage::default(); self.image_count];
        for pulls in pulls {
            if let Some(checks) = checks.get_mut(pulls.image) {
                checks.join(pulls.checks);
            }
        }
        checks
    }
}

/// The image checks of one image, in one spelling or in all spellings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChecksOfImage {
    /// The index of the first check.
    pub(crate) first: Option<usize>,
    /// The index of the first check that `images.forbidAlways` doesn't match. Checks of one image
    /// can have different tags of the same digest, and a pattern can match only one of these tags.
    pub(crate) first_for_always: Option<usize>,
    /// The strongest pull policy of the checks.
    pub(crate) strongest: Option<PullPolicy>,
    /// The strongest pull policy that the checks have in the request.
    pub(crate) strongest_before: Option<PullPolicy>,
    /// Whether `UseCached` applies to a check whose pull policy isn't `Never`.
    pub(crate) uses_cached: bool,
}

impl ChecksOfImage {
    fn join(&mut self, other: Self) {
        let first = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
        self.first = first(self.first, other.first);
        self.first_for_always = first(self.first_for_always, other.first_for_always);
        self.strongest = self.strongest.max(other.strongest);
        self.strongest_before = self.strongest_before.max(other.strongest_before);
        self.uses_cached |= other.uses_cached;
    }
}

/// The pulls of one image in one spelling.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullsOfSpelling {
    /// The number of the image.
    pub(crate) image: usize,
    /// The checks.
    pub(crate) checks: ChecksOfImage,
    /// The strongest pull policy of the init containers that are neither checks nor native sidecars.
    pub(crate) by_init_containers: Option<PullPolicy>,
    /// The strongest pull policy of the guarded places, and the index of the first guarded place
    /// with this pull policy.
    pub(crate) guarded: Option<(usize, PullPolicy)>,
}

impl PullsOfSpelling {
    fn add(&mut self, index: usize, examined: &ExaminedPlace<'_>) {
        match examined.role {
            Role::ImageCheck => self.checks.join(ChecksOfImage {
                first: Some(index),
                first_for_always: examined.limits.forbid_always.is_none().then_some(index),
                strongest: Some(examined.policy),
                strongest_before: Some(examined.policy_before()),
                // `UseCached` doesn't change `Never`. So *weak-check* can still report a check with `Never`.
                uses_cached: examined.uses_cached() && examined.policy != PullPolicy::Never,
            }),
            Role::InitContainer => {
                self.by_init_containers = self.by_init_containers.max(Some(examined.policy));
            }
            Role::Guarded => match &mut self.guarded {
                Some((_, policy)) if *policy >= examined.policy => {}
                guarded => *guarded = Some((index, examined.policy)),
            },
            Role::Unguarded => {}
        }
    }

    /// Whether the image is covered in this spelling, or no guarded place pulls it. A check counts
    /// even if it is too weak, because *weak-check* is about such checks.
    pub(crate) fn is_covered(&self) -> bool {
        let by_init = |needed| {
            self.by_init_containers
                .is_some_and(|policy| policy >= needed)
        };
        self.checks.first.is_some() || self.guarded.is_none_or(|(_, needed)| by_init(needed))
    }
}
