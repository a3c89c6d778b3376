//! A place as the rules see it: its role, the image and the pull policy that it should have, and the limits
//! of its pull policy.

use std::rc::Rc;

use crate::findings::{DisallowingSetting, Reason};
use crate::image::{ImageIdentity, Reference};
use crate::pattern::{ImagePattern, NormalisedImageNames};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::settings::{EffectiveLookupSettings, ImagePullPolicyRules, LookupMode, Settings};

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

/// The number of an image. Images are numbered in the order in which they first appear in the Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImageId(pub(crate) usize);

/// An image in one spelling. Spellings are ordered by their first appearance in the Pod. `nginx:1` and
/// `nginx:2` are two images, so their repository counts as two spellings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spelling {
    /// The number of the spelling.
    pub(super) number: usize,
    /// The image.
    pub(crate) image: ImageId,
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

/// The settings of `images` that match one image, each with its first matching pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullPolicyLimits<'p> {
    /// The pattern of `images.requireAlways`.
    pub(crate) require_always: Option<&'p ImagePattern>,
    /// The pattern of `images.forbidAlways`.
    pub(crate) forbid_always: Option<&'p ImagePattern>,
    /// The pattern of `images.forbidNever`.
    pub(crate) forbid_never: Option<&'p ImagePattern>,
}

impl<'p> PullPolicyLimits<'p> {
    /// The limits of an image.
    pub(crate) fn of(images: &'p ImagePullPolicyRules, reference: &Reference<'_>) -> Self {
        if *images == ImagePullPolicyRules::default() {
            return Self::default();
        }
        let names = NormalisedImageNames::of(reference);
        let first = |patterns: &'p [ImagePattern]| patterns.iter().find(|one| one.matches(&names));
        Self {
            require_always: first(&images.require_always),
            forbid_always: first(&images.forbid_always),
            forbid_never: first(&images.forbid_never),
        }
    }

    /// The setting that forbids a pull policy: `images.forbidAlways` or `images.forbidNever`.
    pub(crate) fn forbidding(&self, policy: PullPolicy) -> Option<DisallowingSetting<'p>> {
        let (name, pattern) = match policy {
            PullPolicy::Always => ("images.forbidAlways", self.forbid_always),
            PullPolicy::Never => ("images.forbidNever", self.forbid_never),
            PullPolicy::IfNotPresent => return None,
        };
        pattern.map(|pattern| DisallowingSetting { name, pattern })
    }

    /// The pull policy to set instead of a disallowed one, and the setting that disallows it.
    /// `requireAlways` has priority. None if the pull policy is allowed.
    pub(crate) fn violated_by(
        &self,
        policy: PullPolicy,
    ) -> Option<(PullPolicy, DisallowingSetting<'p>)> {
        match self.require_always {
            Some(_) if policy == PullPolicy::Always => None,
            Some(pattern) => {
                let name = "images.requireAlways";
                Some((PullPolicy::Always, DisallowingSetting { name, pattern }))
            }
            None => {
                let forbidding = self.forbidding(policy)?;
                Some((PullPolicy::IfNotPresent, forbidding))
            }
        }
    }

    /// The allowed pull policy that is nearest to `policy` in strength. If `requireAlways` and
    /// `forbidAlways` contradict each other, neither of them counts.
    pub(crate) fn clamp(&self, policy: PullPolicy) -> PullPolicy {
        let mut policy = match (self.require_always, self.forbid_always) {
            (Some(_), None) => PullPolicy::Always,
            (None, Some(_)) => policy.min(PullPolicy::IfNotPresent),
            (None, None) | (Some(_), Some(_)) => policy,
        };
        if self.forbid_never.is_some() {
            policy = policy.max(PullPolicy::IfNotPresent);
        }
        policy
    }
}
