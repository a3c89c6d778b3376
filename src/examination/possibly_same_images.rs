//! What a run of the rules can't know about the images of a Pod. Before the lookups, these are the
//! answers of registries. In the copy, which makes no lookups, these are the answers that the first
//! installation received, and the digests that another webhook has added since then.

use std::collections::BTreeMap;

use super::place::{ExaminedPlace, Role};
use crate::image::{ImageIdentity, Reference};
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::settings::Settings;

/// The references of a Pod that may be one image, although this run sees several images.
#[derive(Debug)]
pub(crate) struct PossiblySameImages<'e> {
    /// All spellings of a repository are one entry. The lookup of a tag can show that several references
    /// of its repository have one digest. It can also pin the tag, or make `UseCached` apply.
    repositories: BTreeMap<ImageIdentity<'e>, JoinablePulls<'e>>,
    /// The references with the same [`written_tag`]. In the copy, some of them may have a digest that
    /// another webhook has added.
    tags: BTreeMap<(&'e str, &'e str), JoinablePulls<'e>>,
}

/// The pulls of the references in one group.
#[derive(Debug, Default)]
struct JoinablePulls<'e> {
    /// The first of the images in this group.
    image: Option<ImageIdentity<'e>>,
    has_other_images: bool,
    is_looked_up: bool,
    /// The strongest pull policy of the group's checks in the request.
    by_checks: Option<PullPolicy>,
    /// The strongest pull policy of its init containers that are neither checks nor native sidecars.
    by_init_containers: Option<PullPolicy>,
}

impl<'e> JoinablePulls<'e> {
    fn add(&mut self, examined: &ExaminedPlace<'e>) {
        let image = examined.reference.identity();
        self.has_other_images |= *self.image.get_or_insert(image) != image;
        self.is_looked_up |= examined.is_selected_for_lookup();
        let policy = Some(examined.policy_before());
        match examined.role {
            Role::ImageCheck => self.by_checks = self.by_checks.max(policy),
            Role::InitContainer => {
                self.by_init_containers = self.by_init_containers.max(policy);
            }
            Role::Guarded | Role::Unguarded => {}
        }
    }
}

impl<'e> PossiblySameImages<'e> {
    /// The images of these places that the answers of registries may show to be one image.
    pub(crate) fn about(places: &[ExaminedPlace<'e>]) -> Self {
        let mut repositories: BTreeMap<_, JoinablePulls<'e>> = BTreeMap::new();
        for examined in places {
            let repository = examined.reference.repository_identity();
            repositories.entry(repository).or_default().add(examined);
        }
        let tags = BTreeMap::new();
        Self { repositories, tags }
    }

    /// The same in the copy, where another webhook may also have added digests.
    pub(crate) fn in_copy(places: &[ExaminedPlace<'e>]) -> Self {
        let mut possible = Self::about(places);
        for examined in places {
            let tag = written_tag(&examined.reference);
            possible.tags.entry(tag).or_default().add(examined);
        }
        possible
    }

    /// The groups in which an image may be the same as another image of the Pod.
    fn joinable<'s>(
        &'s self,
        reference: &Reference<'s>,
    ) -> impl Iterator<Item = &'s JoinablePulls<'e>> {
        let repository = self.repositories.get(&reference.repository_identity());
        let repository = repository.filter(|repository| repository.is_looked_up);
        let tag = self.tags.get(&written_tag(reference));
        let groups = repository.into_iter().chain(tag);
        groups.filter(|group| group.has_other_images)
    }

    /// Whether the settings select a tag of the image's repository for a lookup.
    pub(crate) fn concern(&self, reference: &Reference<'_>) -> bool {
        let repository = self.repositories.get(&reference.repository_identity());
        repository.is_some_and(|repository| repository.is_looked_up)
    }

    /// Whether an image check or an init container may pull the same image.
    pub(crate) fn may_join(&self, reference: &Reference<'_>) -> bool {
        self.joinable(reference)
            .any(|group| group.by_checks.is_some() || group.by_init_containers.is_some())
    }

    /// Whether a check of the image may be strong enough.
    pub(crate) fn may_check(&self, reference: &Reference<'_>, needed: PullPolicy) -> bool {
        self.joinable(reference)
            .any(|group| group.by_checks >= Some(needed))
    }

    /// Whether the image may be covered.
    pub(crate) fn may_cover(&self, reference: &Reference<'_>, needed: PullPolicy) -> bool {
        self.joinable(reference)
            .any(|group| group.by_checks.is_some() || group.by_init_containers >= Some(needed))
    }
}

/// The repository and the tag of a reference, as they are written. A missing tag counts as `latest`, also
/// beside a digest: a webhook that adds a digest makes `app@sha256:…` of `app`.
fn written_tag<'r>(reference: &Reference<'r>) -> (&'r str, &'r str) {
    (reference.written(), reference.effective_tag())
}

/// Whether this is the copy, and the image has a digest that another webhook may have added. When the
/// digest was added, the pull policy was already there. So it is no finding of *default*, unless it is
/// `Never`.
pub(crate) fn may_have_got_digest_later(examined: &ExaminedPlace<'_>, settings: &Settings) -> bool {
    settings.registry.accepts_unknown_answers()
        && examined.reference.digest().is_some()
        && examined.policy_before() != PullPolicy::Never
}

/// In the copy, whether `UseCached` of the first installation may have written the `IfNotPresent` of the
/// place.
pub(crate) fn may_be_left_by_use_cached(
    examined: &ExaminedPlace<'_>,
    request_type: RequestType,
) -> bool {
    matches!(
        request_type,
        RequestType::PodCreate | RequestType::EphemeralContainersUpdate
    ) && examined.is_selected_for_lookup()
        && examined.lookup.may_use_cached()
        && examined.limits.require_always.is_none()
        && examined.policy_before() == PullPolicy::IfNotPresent
}
