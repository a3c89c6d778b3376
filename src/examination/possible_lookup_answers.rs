//! The answers that registries may give in this request, or may have given to the first
//! installation. The copy makes no lookups, so it doesn't know the answers to the first installation.

use std::collections::BTreeMap;

use super::examined_container_or_volume::{ExaminedContainerOrVolume, Role};
use crate::image::{ImageIdentity, Reference};
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::settings::Settings;

/// The repositories of a Pod's images. All spellings of a repository are one entry. The lookup of a tag
/// can show that several references of its repository are one image, because they have one digest. It
/// can also pin the tag, or make `UseCached` apply.
#[derive(Debug, Default)]
pub struct PossibleLookupAnswers<'e>(BTreeMap<ImageIdentity<'e>, RepositoryPulls<'e>>);

/// The pulls of one repository.
#[derive(Debug, Default)]
struct RepositoryPulls<'e> {
    /// The first of the Pod's images in this repository.
    image: Option<ImageIdentity<'e>>,
    has_other_images: bool,
    is_looked_up: bool,
    /// The strongest pull policy of the repository's checks in the request.
    by_checks: Option<PullPolicy>,
    /// The strongest pull policy of its init containers that are neither checks nor native sidecars.
    by_init_containers: Option<PullPolicy>,
}

impl<'e> PossibleLookupAnswers<'e> {
    /// The repositories of these places.
    #[must_use]
    pub fn about(places: &[ExaminedContainerOrVolume<'e>]) -> Self {
        let mut repositories: BTreeMap<ImageIdentity<'_>, RepositoryPulls<'_>> = BTreeMap::new();
        for examined in places {
            let image = examined.reference.identity();
            let repository = repositories
                .entry(examined.reference.repository_identity())
                .or_default();
            repository.has_other_images |= *repository.image.get_or_insert(image) != image;
            repository.is_looked_up |= examined.is_selected_for_lookup();
            let policy = Some(examined.policy_before());
            match examined.role {
                Role::ImageCheck => repository.by_checks = repository.by_checks.max(policy),
                Role::InitContainer => {
                    repository.by_init_containers = repository.by_init_containers.max(policy);
                }
                Role::Guarded | Role::Unguarded => {}
            }
        }
        Self(repositories)
    }

    /// The repository of an image. None if no answer can show that the image is the same as another
    /// image of the Pod.
    fn joinable<'s>(&'s self, reference: &'s Reference<'_>) -> Option<&'s RepositoryPulls<'s>> {
        let repository = self.0.get(&reference.repository_identity())?;
        (repository.is_looked_up && repository.has_other_images).then_some(repository)
    }

    /// Whether the settings select a tag of the image's repository for a lookup.
    #[must_use]
    pub fn concern(&self, reference: &Reference<'_>) -> bool {
        let repository = self.0.get(&reference.repository_identity());
        repository.is_some_and(|repository| repository.is_looked_up)
    }

    /// Whether an answer can show that an image check or an init container pulls the same image.
    #[must_use]
    pub fn may_join(&self, reference: &Reference<'_>) -> bool {
        self.joinable(reference).is_some_and(|repository| {
            repository.by_checks.is_some() || repository.by_init_containers.is_some()
        })
    }

    /// Whether an answer can show that a check of the image is strong enough.
    #[must_use]
    pub fn may_check(&self, reference: &Reference<'_>, needed: PullPolicy) -> bool {
        self.joinable(reference)
            .is_some_and(|repository| repository.by_checks >= Some(needed))
    }

    /// Whether an answer can show that the image is covered.
    #[must_use]
    pub fn may_cover(&self, reference: &Reference<'_>, needed: PullPolicy) -> bool {
        self.joinable(reference).is_some_and(|repository| {
            repository.by_checks.is_some() || repository.by_init_containers >= Some(needed)
        })
    }
}

/// Whether this is the copy, and `UseCached` of the first installation may have written the
/// `IfNotPresent` of the place.
#[must_use]
pub fn may_be_left_by_use_cached(
    examined: &ExaminedContainerOrVolume<'_>,
    request_type: RequestType,
    settings: &Settings,
) -> bool {
    settings.registry.accepts_unknown_answers()
        && matches!(
            request_type,
            RequestType::PodCreate | RequestType::EphemeralContainersUpdate
        )
        && examined.is_selected_for_lookup()
        && examined.lookup.may_use_cached()
        && examined.limits.require_always.is_none()
        && examined.policy_before() == PullPolicy::IfNotPresent
}
