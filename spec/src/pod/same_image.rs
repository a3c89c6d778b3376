//! Which places have the same image, and which of them is pulled first. In the copy, this also depends
//! on answers that the first installation may have received from registries.

use super::{Pod, RequestKind};
use crate::image::Reference;
use crate::policy::PullPolicy;

impl Pod<'_> {
    /// Whether two places have the same image. The repositories must be equal. If both places have a
    /// digest, the digests must be equal, and the tags don't matter. If only one place has a digest, a
    /// lookup of this request must have given this digest for the other place's tag. If neither has a
    /// digest, the tags must be equal, or lookups must have given the same digest for both tags.
    pub(crate) fn is_same_image(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.reference(a), self.reference(b)) else {
            return false;
        };
        a.name() == b.name()
            && match (&a.digest, &b.digest) {
                (Some(a), Some(b)) => a == b,
                (Some(digest), None) => self.looked_up(&b) == Some(digest),
                (None, Some(digest)) => self.looked_up(&a) == Some(digest),
                (None, None) => {
                    a.tag == b.tag
                        || self.looked_up(&a).is_some() && self.looked_up(&a) == self.looked_up(&b)
                }
            }
    }

    /// Whether two places have the same image, or a registry's answer could show that they have it.
    ///
    /// **Decided\***: if an image of the repository is looked up, this function treats all tags and
    /// digests of this repository as the same image. Otherwise a registry's answer would decide
    /// whether a volume is a check.
    pub(super) fn may_be_same_image(&self, a: usize, b: usize) -> bool {
        let looks_up = |place: usize| {
            self.reference(place)
                .is_some_and(|image| self.settings.lookup(&image) != "Off")
        };
        self.is_same_image(a, b)
            || self.is_same_repository(a, b)
                && self
                    .examined()
                    .into_iter()
                    .any(|other| self.is_same_repository(other, a) && looks_up(other))
    }

    fn looked_up(&self, image: &Reference) -> Option<&String> {
        self.lookups.digests.get(&image.name_and_tag()?)
    }

    /// Whether the images of two places are written alike: their repositories are the same text. This
    /// matters because a node stores pull credentials under the repository as it is written.
    pub(crate) fn is_written_alike(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.spelling == b.spelling,
            _ => false,
        }
    }

    /// Whether a pull by `proof` also proves that the image of `place` can be pulled. The two places
    /// must have the same image, written alike.
    pub(crate) fn serves(&self, proof: usize, place: usize) -> bool {
        proof != place && self.is_written_alike(proof, place) && self.is_same_image(proof, place)
    }

    /// Looks for places of the request that may have the same image as `place`, although this run sees
    /// several images. Returns two values for each such group of places: the strongest pull policy of the
    /// checks in the group, and that of the other init containers. There are at most two groups:
    ///
    /// - All places with the repository of `place`, in any spelling. A registry's answer can show that two
    ///   of them are the same image if at least one of them has no digest and is looked up.
    /// - In the copy, all places with the written repository and the tag of `place`. Another webhook may
    ///   have added a digest to some of them after the first installation ran.
    ///
    /// **Decided\***: the copy doesn't know which references had the same image in the first run. A
    /// registry's answer in the first run could have shown a check that is strong enough, or an init
    /// container that covers the image. In both cases, the copy demands no stronger and no new check.
    /// **Decided**: in the second group, two references with different digests count as one image too. A
    /// missing tag counts as `latest`, also beside a digest.
    fn may_be_joined(&self, place: usize) -> Vec<(Option<PullPolicy>, Option<PullPolicy>)> {
        let of = |is_in: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let mut places = self.examined();
            places.retain(|&other| self.places[other].came_in.is_some() && is_in(other));
            places
        };
        let mut groups = Vec::new();
        let repository = of(&|other| self.is_same_repository(other, place));
        if repository.iter().any(|&other| self.is_looked_up(other)) {
            groups.push(repository);
        }
        let tag = |place: usize| {
            let image = self.reference(place);
            image.map(|image| image.tag.unwrap_or_else(|| "latest".to_owned()))
        };
        if self.is_lenient && tag(place).is_some() {
            groups.push(of(&|other| {
                self.is_written_alike(other, place) && tag(other) == tag(place)
            }));
        }
        groups.retain(|group| {
            group
                .iter()
                .any(|&other| !self.is_same_image(other, group[0]))
        });
        let strongest = |group: &[usize], is_one: &dyn Fn(usize) -> bool| {
            let them = group.iter().filter(|&&other| is_one(other));
            them.map(|&other| self.places[other].policy_before()).max()
        };
        let pulls = |group: &Vec<usize>| {
            let by_checks = strongest(group, &|other| self.is_check(other));
            let by_inits = strongest(group, &|other| {
                self.is_plain_init(other) && !self.is_check(other)
            });
            (by_checks, by_inits)
        };
        groups.iter().map(pulls).collect()
    }

    /// Whether, in the copy, another webhook may have added the digest of a place after the first
    /// installation ran. Then `Always` and `IfNotPresent` are no finding of *default*.
    pub(crate) fn may_have_got_digest_later(&self, place: usize) -> bool {
        let has_digest = |image: Reference| image.digest.is_some();
        self.is_lenient
            && self.reference(place).is_some_and(has_digest)
            && self.places[place].policy_before() != PullPolicy::Never
    }

    /// Whether a registry's answer could show that the image of a place is the same as the image of
    /// a check or of an init container. Then the image is pulled before the app containers start.
    pub(crate) fn may_be_pulled_first(&self, place: usize) -> bool {
        let mut groups = self.may_be_joined(place).into_iter();
        groups.any(|(checks, inits)| checks.or(inits).is_some())
    }

    /// Whether, in the copy, a registry's answer in the first run could have shown that the image has
    /// a check with at least the pull policy `need`. The copy must accept the output of the first run.
    pub(crate) fn may_be_checked(&self, place: usize, need: PullPolicy) -> bool {
        let mut groups = self.may_be_joined(place).into_iter();
        self.is_lenient && groups.any(|(checks, _)| checks >= Some(need))
    }

    /// Whether, in the copy, a registry's answer in the first run could have shown a covered image.
    pub(crate) fn may_be_covered(&self, place: usize, need: PullPolicy) -> bool {
        let mut groups = self.may_be_joined(place).into_iter();
        self.is_lenient && groups.any(|(checks, inits)| checks.is_some() || inits >= Some(need))
    }

    /// Whether the images of two places have the same repository, after normalisation.
    fn is_same_repository(&self, a: usize, b: usize) -> bool {
        match (self.reference(a), self.reference(b)) {
            (Some(a), Some(b)) => a.name() == b.name(),
            _ => false,
        }
    }

    /// Whether the image of a place has no digest and is looked up.
    pub(crate) fn is_looked_up(&self, place: usize) -> bool {
        self.reference(place)
            .is_some_and(|image| image.digest.is_none() && self.settings.lookup(&image) != "Off")
    }

    /// Whether `Pin` or `UseCached` could change the pull policy of a place after a lookup. Any
    /// lookup in the repository of the place's image counts.
    pub(crate) fn may_be_pinned_or_cached(&self, place: usize) -> bool {
        let changes = self.reference(place).is_some_and(|image| {
            self.settings.lookup(&image) == "Pin" || self.has_use_cached(&image)
        });
        changes
            && self
                .examined()
                .into_iter()
                .any(|other| self.is_same_repository(other, place) && self.is_looked_up(other))
    }

    /// Whether the image is looked up, and one of the `on…` settings for this image is `UseCached`.
    fn has_use_cached(&self, image: &Reference) -> bool {
        let actions = [
            "onNotFound",
            "onDenied",
            "onRateLimited",
            "onUnreachable",
            "onUnknown",
        ];
        let mut actions = actions.iter();
        self.settings.lookup(image) != "Off"
            && actions.any(|key| self.settings.registry(image, key, "") == "UseCached")
    }

    /// Whether, in the copy, the pull policy of a place could be a result of `UseCached`.
    ///
    /// **Decided**: `UseCached` writes only `IfNotPresent`. So a check with `Never` is not its result.
    pub(crate) fn may_be_cached(&self, place: usize) -> bool {
        self.is_lenient
            && self.places[place].policy_before() == PullPolicy::IfNotPresent
            && matches!(
                self.request_kind,
                RequestKind::PodCreate | RequestKind::EphemeralContainers
            )
            && self.is_looked_up(place)
            && self.reference(place).is_some_and(|image| {
                self.has_use_cached(&image) && !self.settings.requires_always(&image)
            })
    }
}
