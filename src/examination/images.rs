//! Which image each place pulls, and in which spelling.
//!
//! Two references are the same image if their identities ([`ImageIdentity`]) are equal. A node is
//! stricter: it remembers pulls by the written repository (`KubeletEnsureSecretPulledImages`), and
//! asks the registry again for another spelling. So the rules compare spellings too.

use std::collections::BTreeMap;

use super::place::{ExaminedPlace, ImageId, PlaceId, Role, Spelling, with_ids};
use crate::image::ImageIdentity;
use crate::pull_policy::PullPolicy;

/// Finds the image and the spelling of each place. No rule changes them.
pub(crate) fn set_spellings(places: &mut [ExaminedPlace<'_>]) {
    let mut images: BTreeMap<ImageIdentity<'_>, ImageId> = BTreeMap::new();
    let mut spellings: BTreeMap<(ImageId, &str), Spelling> = BTreeMap::new();
    let mut of_places = Vec::with_capacity(places.len());
    for examined in places.iter() {
        let next = ImageId(images.len());
        let image = *images.entry(examined.identity()).or_insert(next);
        let number = spellings.len();
        let spelling = spellings.entry((image, examined.reference.written()));
        of_places.push(*spelling.or_insert(Spelling { number, image }));
    }
    for (examined, spelling) in places.iter_mut().zip(of_places) {
        examined.spelling = spelling;
    }
}

/// The pulls of each spelling, in the order of the spellings.
pub(crate) fn pulls_by_spelling(places: &[ExaminedPlace<'_>]) -> Vec<(Spelling, PullsOfImage)> {
    let mut pulls = Vec::with_capacity(places.len());
    for (id, examined) in with_ids(places) {
        // The numbers have the order of the places.
        if examined.spelling.number == pulls.len() {
            pulls.push((examined.spelling, PullsOfImage::default()));
        }
        if let Some((_, pulls)) = pulls.get_mut(examined.spelling.number) {
            pulls.add(id, examined);
        }
    }
    pulls
}

/// The checks of each image, in any spelling. [`ImageId`] is the index.
pub(crate) fn checks_by_image(pulls: &[(Spelling, PullsOfImage)]) -> Vec<ChecksOfImage> {
    let mut checks = vec![ChecksOfImage::default(); pulls.len()];
    for (spelling, pulls) in pulls {
        if let Some(checks) = checks.get_mut(spelling.image.0) {
            checks.join(pulls.checks);
        }
    }
    checks
}

/// The image checks of one image, in one spelling or in all spellings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChecksOfImage {
    /// The first check.
    pub(crate) first: Option<PlaceId>,
    /// The first check that `images.forbidAlways` doesn't match. Checks of one image can have different
    /// tags of the same digest, and a pattern can match only one of these tags.
    pub(crate) first_for_always: Option<PlaceId>,
    /// The strongest pull policy of the checks.
    pub(crate) strongest: Option<PullPolicy>,
    /// The strongest pull policy that the checks have in the request.
    pub(crate) strongest_before: Option<PullPolicy>,
    /// Whether `UseCached` applies to a check whose pull policy isn't `Never`.
    pub(crate) uses_cached: bool,
}

impl ChecksOfImage {
    fn join(&mut self, other: Self) {
        let first = |a: Option<PlaceId>, b: Option<PlaceId>| a.into_iter().chain(b).min();
        self.first = first(self.first, other.first);
        self.first_for_always = first(self.first_for_always, other.first_for_always);
        self.strongest = self.strongest.max(other.strongest);
        self.strongest_before = self.strongest_before.max(other.strongest_before);
        self.uses_cached |= other.uses_cached;
    }
}

/// The pulls of one image in one spelling.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullsOfImage {
    /// The checks.
    pub(crate) checks: ChecksOfImage,
    /// The strongest pull policy of the init containers that are neither checks nor native sidecars.
    pub(crate) by_init_containers: Option<PullPolicy>,
    /// The strongest pull policy of the guarded places, and the first guarded place with this pull
    /// policy.
    pub(crate) guarded: Option<(PlaceId, PullPolicy)>,
}

impl PullsOfImage {
    fn add(&mut self, id: PlaceId, examined: &ExaminedPlace<'_>) {
        match examined.role {
            Role::ImageCheck => self.checks.join(ChecksOfImage {
                first: Some(id),
                first_for_always: examined.limits.forbid_always.is_none().then_some(id),
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
                guarded => *guarded = Some((id, examined.policy)),
            },
            Role::Unguarded => {}
        }
    }

    /// Whether the image is covered in this spelling, or no guarded place pulls it. A check counts
    /// even if it is too weak, because *weak-check* is about such checks.
    pub(crate) fn is_covered(&self) -> bool {
        self.checks.first.is_some()
            || (self.guarded).is_none_or(|(_, needed)| self.by_init_containers >= Some(needed))
    }
}
