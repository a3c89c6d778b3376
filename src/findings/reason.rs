//! The ids of the rules, and the reasons why a field changes or is wrong. `sentences.rs` has the
//! sentences about them.

use std::borrow::Cow;
use std::rc::Rc;

use crate::image::InvalidReference;
use crate::lookup::{FailureClass, LookupAttempt, LookupError};
use crate::pattern::ImagePattern;
use crate::pull_policy::PullPolicy;

/// The ids of the rules. The rule with the most important findings comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RuleId {
    /// `src/rules/invalid_image.rs`
    InvalidImage,
    /// `src/rules/stuck_pull.rs`
    StuckPull,
    /// `src/rules/disallowed_policy.rs`
    DisallowedPolicy,
    /// `src/rules/registry.rs`
    Registry,
    /// `src/rules/weak_check.rs`
    WeakCheck,
    /// `src/rules/missing_check.rs`
    MissingCheck,
    /// `src/rules/default.rs`
    Default,
    /// `src/rules/outdated_check.rs`
    OutdatedCheck,
    /// `src/rules/pull_once.rs`
    PullOnce,
}

impl RuleId {
    /// All rules, the one with the most important findings first.
    pub(crate) const ALL: [Self; 9] = [
        Self::InvalidImage,
        Self::StuckPull,
        Self::DisallowedPolicy,
        Self::Registry,
        Self::WeakCheck,
        Self::MissingCheck,
        Self::Default,
        Self::OutdatedCheck,
        Self::PullOnce,
    ];

    /// The id in annotations and in the documentation.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidImage => "invalid-image",
            Self::StuckPull => "stuck-pull",
            Self::DisallowedPolicy => "disallowed-policy",
            Self::Registry => "registry",
            Self::WeakCheck => "weak-check",
            Self::MissingCheck => "missing-check",
            Self::Default => "default",
            Self::OutdatedCheck => "outdated-check",
            Self::PullOnce => "pull-once",
        }
    }
}

/// The reason why a field changes or is wrong, with the values that its sentences need beside those of
/// the finding.
#[derive(Clone, Debug)]
pub(crate) enum Reason<'p> {
    /// The image can't be parsed, or is an image ID.
    InvalidImage(InvalidReference),
    /// A container waits for an image.
    Waiting(WaitingContainer<'p>),
    /// A setting disallows the pull policy.
    DisallowedPolicy(DisallowingSetting<'p>),
    /// A setting disallows a pull policy in an existing Pod, where pull policies are immutable.
    ImmutablePolicy(DisallowingSetting<'p>),
    /// A pattern of `images.requireAlways` and a pattern of `images.forbidAlways` match the image.
    AlwaysRequiredAndForbidden {
        /// The pattern of `images.requireAlways`.
        require: &'p ImagePattern,
        /// The pattern of `images.forbidAlways`.
        forbid: &'p ImagePattern,
    },
    /// The tag has to be pinned to this digest.
    TagToPin(Rc<str>),
    /// The image was pinned, so the pull policy changes too. No sentence is written for this reason.
    PolicyOfPinnedImage,
    /// The lookup failed, and `UseCached` allows the image that the node already has.
    CachedImageAllowed,
    /// The lookup failed or was not made, and the setting for this failure is `Reject`.
    LookupFailed(LookupError),
    /// The image doesn't exist for a platform that the Pod asks for.
    MissingPlatform(MissingPlatform),
    /// A container or image volume has a stronger pull policy than its checks.
    StrongerContainer {
        /// The name of the container or image volume.
        name: &'p str,
        /// Its pull policy.
        policy: PullPolicy,
    },
    /// `images.forbidAlways` matches all checks of a container, so none of them can be raised to `Always`.
    AlwaysForbiddenForCheck {
        /// The name of the container or image volume.
        name: &'p str,
    },
    /// An image that is not covered gets a check.
    CheckAdded {
        /// The name of the check.
        name: String,
        /// The image of the check.
        image: String,
        /// The reference of an existing check that has the same image in another spelling.
        written_differently: Option<&'p str>,
    },
    /// An image that is not covered gets no check.
    NoCheckAdded {
        /// Why it gets none.
        why: WhyNoCheck<'p>,
        /// The reference of an existing check that has the same image in another spelling.
        written_differently: Option<&'p str>,
    },
    /// Nobody chose the pull policy, and this setting has a default.
    Default(&'static str),
    /// No container has the image of this check any more.
    ReplacedImage,
    /// An init container has pulled the image already. No sentence is written for this reason.
    PulledBefore,
}

impl Reason<'_> {
    /// The rule that this reason belongs to.
    pub(crate) const fn rule(&self) -> RuleId {
        match self {
            Self::InvalidImage(_) => RuleId::InvalidImage,
            Self::Waiting(_) => RuleId::StuckPull,
            Self::DisallowedPolicy(_)
            | Self::ImmutablePolicy(_)
            | Self::AlwaysRequiredAndForbidden { .. } => RuleId::DisallowedPolicy,
            Self::TagToPin(_)
            | Self::PolicyOfPinnedImage
            | Self::CachedImageAllowed
            | Self::LookupFailed(_)
            | Self::MissingPlatform(_) => RuleId::Registry,
            Self::StrongerContainer { .. } | Self::AlwaysForbiddenForCheck { .. } => {
                RuleId::WeakCheck
            }
            Self::CheckAdded { .. } | Self::NoCheckAdded { .. } => RuleId::MissingCheck,
            Self::Default(_) => RuleId::Default,
            Self::ReplacedImage => RuleId::OutdatedCheck,
            Self::PulledBefore => RuleId::PullOnce,
        }
    }

    /// Whether a field that changes for this reason was wrong. A change that only saves a pull is no
    /// finding. The pull policy of a pinned image is part of the finding about its tag.
    pub(crate) const fn is_finding(&self) -> bool {
        !matches!(self, Self::PolicyOfPinnedImage | Self::PulledBefore)
    }

    /// Whether the same request may be accepted later. True for a failed lookup, unless the image
    /// doesn't exist or `registry.maxLookups` was reached.
    pub(crate) fn is_momentary(&self) -> bool {
        matches!(self, Self::LookupFailed(error)
            if error.class != FailureClass::NotFound
                && error.attempt != LookupAttempt::LimitReached)
    }
}

/// A container that waits for its image, or for the image of a volume that it mounts.
#[derive(Clone, Debug)]
pub(crate) struct WaitingContainer<'p> {
    /// The name of the container, if it waits for the image of a volume. If it waits for its own image,
    /// the finding has its name.
    pub(crate) container: Option<&'p str>,
    /// The images that may be missing.
    pub(crate) images: Vec<&'p str>,
    /// The waiting reason.
    pub(crate) reason: &'static str,
    /// The way out, if no check passed.
    pub(crate) way_out: &'static str,
    /// The time since when the container waits.
    pub(crate) since: Option<Cow<'p, str>>,
    /// The check of the image, if it passed.
    pub(crate) passed_check: Option<PassedCheck<'p>>,
}

/// An image check that passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedCheck<'p> {
    /// The name of the check.
    pub(crate) name: &'p str,
    /// Its pull policy.
    pub(crate) policy: PullPolicy,
}

/// The setting that disallows a pull policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisallowingSetting<'p> {
    /// The name of the setting.
    pub(crate) name: &'static str,
    /// Its first pattern that matches the image.
    pub(crate) pattern: &'p ImagePattern,
}

/// The platforms of an image, and a platform that the Pod asks for and that is not among them.
#[derive(Clone, Debug)]
pub(crate) struct MissingPlatform {
    /// The platforms of the image.
    pub(crate) has: Vec<String>,
    /// The platform that the image lacks.
    pub(crate) lacks: String,
    /// The path of the Pod spec.
    pub(crate) pod_spec: &'static [&'static str],
    /// The field of the Pod spec that asks for the platform.
    pub(crate) field: &'static str,
}

/// Why an image that is not covered gets no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhyNoCheck<'p> {
    /// The settings ask for no added checks, or this object gets none: for example, a pod template.
    NoneWanted,
    /// The API server refuses some fields of Linux containers in a Windows Pod.
    Windows,
    /// The added check would be an image volume, and the Pod's nodes may be unable to mount it.
    NoImageVolumes {
        /// The field of the Pod spec because of which they may be unable to do so.
        beside: &'static str,
    },
    /// The Pod has no check that can be copied and no check volume, and there is no template.
    NothingToCopy,
    /// The template mounts this volume, and the Pod doesn't have it. The API server would refuse the
    /// Pod. The Pod has no check that can be copied and no check volume.
    TemplateNeedsVolume(&'p str),
    /// The added checks together would be too large.
    TooLarge,
}
