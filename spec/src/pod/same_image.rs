//! Which places have the same image, which images are covered, and what the copy can't know about them.

use super::{List, Place, Pod};
use crate::image::Reference;
use crate::policy::PullPolicy;

impl Pod<'_> {
    /// Whether two places have the same image. The repositories must be equal. If both places have a
    /// digest, the digests must be equal, and the tags don't matter. If only one place has a digest, a
    /// lookup of this request must have given this digest for the other place's tag. If neither has a
    /// digest, the tags must be equal, or lookups must have given the same digest for both tags.
    ///
    /// **Decided**: an image ID is not looked up, so it has no digest. This also holds if the same name is
    /// looked up in another spelling: `docker.io/library/sha256:abc` beside `sha256:abc`.
    pub(crate) fn is_same_image(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.reference(a), self.reference(b)) else {
            return false;
        };
        let digest = |image: &Reference| {
            let looked_up = || self.lookups.digests.get(&image.name_and_tag()?).cloned();
            let is_looked_up = !image.is_image_id;
            image
                .digest
                .clone()
                .or_else(|| is_looked_up.then(looked_up).flatten())
        };
        a.name() == b.name()
            && match (digest(&a), digest(&b)) {
                (None, None) => a.tag == b.tag,
                (a, b) => a == b,
            }
    }

    /// Whether two places may have the same image. In the copy, this holds for two references with the
    /// same repository and tag, because another webhook may have added a digest to one of them after the
    /// first installation ran. This weaker identity must only ever remove findings.
    pub(crate) fn may_be_same_image(&self, a: usize, b: usize) -> bool {
        let tag = |place: usize| {
            let image = self.reference(place);
            image.map(|image| image.tag.unwrap_or_else(|| "latest".to_owned()))
        };
        self.is_same_image(a, b)
            || self.settings.is_copy() && self.is_same_repository(a, b) && tag(a) == tag(b)
    }

    /// The places whose image the settings select for a lookup, and has the repository of a place's image.
    /// Exempt places are among them.
    pub(super) fn selected_of_repository(&self, place: usize) -> impl Iterator<Item = &Place> {
        let others = (0..self.places.len()).filter(move |&other| {
            let image = self.reference(other);
            self.is_same_repository(other, place)
                && image.is_some_and(|image| self.settings.selects_for_lookup(&image))
        });
        others.map(|other| &self.places[other])
    }

    /// Whether the copy lacks the answers of registries that decide about the image of a place. Then
    /// *default*, *registry*, *weak-check* and *missing-check* have no finding about this image.
    pub(crate) fn lacks_answers(&self, place: usize) -> bool {
        self.settings.is_copy() && self.selected_of_repository(place).next().is_some()
    }

    /// Whether the images of two places are written alike: their repositories are the same text. This
    /// matters because a node stores pull credentials under the repository as it is written.
    pub(crate) fn is_written_alike(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.spelling == b.spelling,
            _ => false,
        }
    }

    /// The guarded places with the image of a container, written alike.
    fn alike(&self, container: usize) -> Vec<usize> {
        let mut places = self.guarded();
        places.retain(|&other| {
            self.is_same_image(other, container) && self.is_written_alike(other, container)
        });
        places
    }

    /// Whether a place may have the image of a container. In the copy, it may have the image of another guarded place
    /// with the container's image: the tags of the two may differ.
    pub(crate) fn may_have_image_of(&self, other: usize, container: usize) -> bool {
        let alike = self.alike(container);
        alike
            .iter()
            .any(|&place| self.may_be_same_image(other, place))
    }

    /// Whether a pull by `proof` also proves that the image of a container can be pulled. The two places
    /// must have the same image, written alike.
    pub(crate) fn serves(&self, proof: usize, container: usize) -> bool {
        proof != container
            && self.is_written_alike(proof, container)
            && self.may_have_image_of(proof, container)
    }

    /// The pull policy that an image needs: the strongest pull policy of its guarded places whose
    /// references are written alike.
    pub(crate) fn need(&self, container: usize) -> PullPolicy {
        let policies = self.alike(container).into_iter();
        let policies = policies.map(|other| self.places[other].policy);
        policies.max().unwrap_or(self.places[container].policy)
    }

    /// Whether the image of a container is covered. An image is covered if an image check pulls it, or if
    /// another init container pulls it and ends before the app starts. The other init container must pull
    /// at least as strongly as the image needs. In both cases, the reference that is pulled first and the
    /// reference of the container must be written alike.
    pub(crate) fn is_covered(&self, container: usize) -> bool {
        let need = self.need(container);
        self.has_only_one_place()
            || self.examined().into_iter().any(|other| {
                self.serves(other, container)
                    && (self.is_check(other)
                        || self.is_plain_init(other) && self.places[other].policy >= need)
            })
    }

    /// Whether an app container is the only place. Exempt places and native sidecars don't count. No
    /// other container runs while this container waits for its image, so the image counts as covered.
    /// **Decided**: ephemeral containers don't count either, because they start later.
    fn has_only_one_place(&self) -> bool {
        let mut places = self.places.iter().filter(|place| {
            place.is_examined && !place.is_sidecar && place.list != List::EphemeralContainers
        });
        let first = places.next();
        first.is_some_and(|place| place.list == List::Containers) && places.next().is_none()
    }

    /// Whether the images of two places have the same repository, after normalisation.
    pub(super) fn is_same_repository(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.name() == b.name(),
            _ => false,
        }
    }
}
