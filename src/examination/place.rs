//! A place as the rules see it, with the image and the pull policy that it should have.

use std::rc::Rc;

use super::images::Spelling;
use super::limits::PullPolicyLimits;
use crate::findings::reason::Reason;
use crate::image::{ImageIdentity, Reference};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::settings::{EffectiveLookupSettings, LookupMode, Settings};

/// The role of a container or image volume in its Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An image check.
    ImageCheck,
    /// Any other init container that ends before the app containers start.
    InitContainer,
    /// An app container. With `imageChecks.as: ImageVolume`, also an image volume that is no
    /// check, if an app container mounts it and no init container does.
    Guarded,
    /// A native sidecar, an ephemeral container or any other image volume. No check guards these.
    Unguarded,
}

/// The number of an examined place. `examination[id]` always exists, because [`with_ids`] makes all ids
/// and no rule adds or removes places. Each run of the rules gives the places the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlaceId(pub(super) usize);

/// The places with their ids.
pub(crate) fn with_ids<'c, 'p>(
    places: &'c [ExaminedPlace<'p>],
) -> impl Iterator<Item = (PlaceId, &'c ExaminedPlace<'p>)> {
    let places = places.iter().enumerate();
    places.map(|(index, place)| (PlaceId(index), place))
}

/// A container or image volume that the rules examine. Its image reference could be parsed.
pub(crate) struct ExaminedPlace<'p> {
    /// The container or image volume as it came in.
    pub(crate) place: &'p Place<'p>,
    /// Its role in the Pod.
    pub(crate) role: Role,
    /// Its image as it came in.
    pub(crate) reference: Reference<'p>,
    /// The pull policies that the settings forbid or require for its image.
    pub(crate) limits: PullPolicyLimits<'p>,
    /// The settings of `registry` for its image.
    pub(crate) lookup: EffectiveLookupSettings,
    /// The pull policy that it should have. Before the first rule runs, this is the pull policy that
    /// came in, or the server default if none was set.
    pub(crate) policy: PullPolicy,
    /// The reason from the last call of `set_policy` that changed the pull policy.
    pub(crate) policy_reason: Option<Reason<'p>>,
    /// The digest behind its tag, as far as it is known.
    pub(crate) digest: DigestOfTag,
    /// Its image, in its spelling.
    pub(crate) spelling: Spelling,
}

impl<'p> ExaminedPlace<'p> {
    /// A place as it came in. Its role, its digest and its spelling are set later.
    pub(crate) fn new(
        place: &'p Place<'p>,
        reference: Reference<'p>,
        settings: &'p Settings,
    ) -> Self {
        let server_default = server_default(&reference);
        Self {
            place,
            role: Role::Unguarded,
            reference,
            limits: PullPolicyLimits::of(&settings.images, &reference),
            lookup: settings.registry.for_image(&reference),
            policy: place.policy.unwrap_or(server_default),
            policy_reason: None,
            digest: DigestOfTag::Unknown,
            spelling: Spelling::default(),
        }
    }

    /// The pull policy that came in, or the server default if none was set.
    pub(crate) fn policy_before(&self) -> PullPolicy {
        let server_default = || server_default(&self.reference);
        self.place.policy.unwrap_or_else(server_default)
    }

    /// Sets the pull policy, with a reason. If the place already has this pull policy, the reason
    /// doesn't change either.
    pub(crate) fn set_policy(&mut self, policy: PullPolicy, reason: Reason<'p>) {
        if policy != self.policy {
            self.policy = policy;
            self.policy_reason = Some(reason);
        }
    }

    /// Whether the pull policy that the place should have differs from [`Self::policy_before`].
    pub(crate) fn has_new_policy(&self) -> bool {
        self.policy != self.policy_before()
    }

    /// The reason why the pull policy that came in is wrong. `None` if it isn't wrong.
    pub(crate) fn policy_finding(&self) -> Option<&Reason<'p>> {
        let reason = self.policy_reason.as_ref()?;
        (self.has_new_policy() && reason.is_finding()).then_some(reason)
    }

    /// Whether it is an init container that ends before the app containers start. A check volume is none:
    /// another webhook may drop the volume's `image`, and then nothing is pulled.
    pub(crate) fn is_init_container(&self) -> bool {
        matches!(self.role, Role::ImageCheck | Role::InitContainer)
            && self.place.list == PodSpecList::InitContainers
    }

    /// The image as it came in.
    pub(crate) fn image(&self) -> &'p str {
        self.place.image_text()
    }

    /// The image as it should be. A pinned image keeps its tag, and gets `latest` if it has none:
    /// people read the tag, and patterns match it.
    pub(crate) fn image_after(&self) -> String {
        let image = self.image();
        match (self.digest.pinned_digest(), self.reference.tag()) {
            (Some(digest), Some(_)) => format!("{image}@{digest}"),
            (Some(digest), None) => format!("{image}:latest@{digest}"),
            (None, _) => image.to_owned(),
        }
    }

    /// The identity that decides whether two places pull the same image. A tag and a digest are
    /// the same image if the tag is known to have this digest.
    pub(crate) fn identity(&self) -> ImageIdentity<'_> {
        match self.digest.digest() {
            Some(digest) => self.reference.identity_at(Some(digest)),
            None => self.reference.identity(),
        }
    }

    /// Whether its image has a digest, as it came in or after it was pinned.
    pub(crate) fn has_digest(&self) -> bool {
        self.digest.pinned_digest().is_some() || self.reference.digest().is_some()
    }

    /// Whether `UseCached` lets the place use the image that the node has cached.
    pub(crate) fn uses_cached(&self) -> bool {
        self.digest == DigestOfTag::UseCached
    }

    /// Whether the settings select its tag for a lookup.
    pub(crate) fn is_selected_for_lookup(&self) -> bool {
        self.lookup.mode != LookupMode::Off && self.reference.digest().is_none()
    }
}

/// The digest behind the tag of an image, if it is known while a request is examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum DigestOfTag {
    /// No digest behind the tag is known.
    #[default]
    Unknown,
    /// A lookup gave this digest. It is not written into the image.
    Resolved(Rc<str>),
    /// This digest is to be written into the image, after the tag.
    Pinned(Rc<str>),
    /// The image that the node has cached may be used (`UseCached`), because the registry gave no
    /// digest. The copy also uses this value, because the first installation may have got no digest.
    UseCached,
}

impl DigestOfTag {
    /// The digest, if one is known.
    pub(crate) fn digest(&self) -> Option<&str> {
        match self {
            Self::Resolved(digest) | Self::Pinned(digest) => Some(digest),
            Self::Unknown | Self::UseCached => None,
        }
    }

    /// The digest that is to be written into the image.
    pub(crate) fn pinned_digest(&self) -> Option<&Rc<str>> {
        match self {
            Self::Pinned(digest) => Some(digest),
            Self::Unknown | Self::Resolved(_) | Self::UseCached => None,
        }
    }
}

/// The pull policy that the API server fills in for an image.
pub(crate) fn server_default(reference: &Reference<'_>) -> PullPolicy {
    PullPolicy::server_default(reference.tag(), reference.digest())
}
