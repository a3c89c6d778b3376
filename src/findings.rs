//! Findings. A finding is one thing that is wrong, with its reason. `findings/sentences.rs` has the
//! sentences for people.

pub(crate) mod failed_lookup;
mod sentences;

use std::borrow::Cow;
use std::rc::Rc;

use crate::image::InvalidReference;
use crate::lookup::{FailureClass, LookupAttempt, LookupError};
use crate::pattern::ImagePattern;
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::settings::Mode;

/// The field that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FindingField {
    /// The image is invalid, lacks a platform, or could not be looked up. No replacement is known.
    Image,
    /// The image gets a digest. A new pull policy because of the digest is part of this finding.
    ImageToPin {
        /// The image with its digest.
        pinned: String,
    },
    /// The image is not covered.
    MissingCheck {
        /// The check that should be there.
        expected: Cow<'static, str>,
    },
    /// The pull policy is wrong.
    PullPolicy,
    /// A reason in the status of a waiting container.
    WaitingReason {
        /// The path of the reason.
        path: String,
        /// The reason: one of the waiting reasons that *stuck-pull* reports.
        found: &'static str,
    },
}

/// The effect that a finding has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repairability {
    /// The finding has a repair.
    Repairable,
    /// The finding has no repair.
    Unrepairable,
    /// The finding leads at most to a warning, and never rejects the request.
    Advice,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding<'p> {
    /// The container or image volume.
    pub(crate) place: &'p Place<'p>,
    /// The field.
    pub(crate) field: FindingField,
    /// The pull policy that was found. None for an added check. If the place sets no pull policy, this is
    /// the server default in a finding with a repair, and None in other findings.
    pub(crate) found_policy: Option<PullPolicy>,
    /// The pull policy that should be there. None if the finding proposes no pull policy.
    pub(crate) expected_policy: Option<PullPolicy>,
    /// The effect.
    pub(crate) repairability: Repairability,
    /// The reason.
    pub(crate) reason: Reason<'p>,
}

impl<'p> Finding<'p> {
    /// A finding without a repair. The caller may turn it into advice.
    pub(crate) fn unrepairable(
        place: &'p Place<'p>,
        field: FindingField,
        reason: Reason<'p>,
    ) -> Self {
        Self {
            place,
            field,
            found_policy: place.policy,
            expected_policy: None,
            repairability: Repairability::Unrepairable,
            reason,
        }
    }

    /// The path of the field in the request's object. `pod_spec` has the keys that lead from the object to
    /// its Pod spec.
    pub(crate) fn path(&self, pod_spec: &[&str]) -> String {
        match &self.field {
            FindingField::WaitingReason { path, .. } => path.clone(),
            _ => (self.place.list).path(pod_spec, self.place.index, self.spec_field()),
        }
    }

    /// The key by which the findings are sorted: the order of the Pod. Fields of the status come last.
    pub(crate) fn order(&self) -> (bool, PodSpecList, usize, &'static str) {
        let is_in_status = matches!(self.field, FindingField::WaitingReason { .. });
        let (list, index) = (self.place.list, self.place.index);
        (is_in_status, list, index, self.spec_field())
    }

    const fn spec_field(&self) -> &'static str {
        let list = self.place.list;
        match self.field {
            FindingField::PullPolicy => list.pull_policy_field(),
            _ => list.image_field(),
        }
    }

    /// Whether the finding rejects the request in this mode.
    pub(crate) fn rejects(&self, mode: Mode) -> bool {
        match self.repairability {
            Repairability::Advice => false,
            Repairability::Repairable => mode == Mode::Reject,
            Repairability::Unrepairable => mode != Mode::Warn,
        }
    }

    /// The value of the field as it was found. None for a missing check, and for a pull policy that
    /// was not set and has no repair.
    pub(crate) fn found(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::ImageToPin { .. } => Some(self.place.image_text()),
            FindingField::MissingCheck { .. } => None,
            FindingField::PullPolicy => self.found_policy.map(PullPolicy::as_str),
            FindingField::WaitingReason { found, .. } => Some(found),
        }
    }

    /// The value that should be there. None if no value is known to be right.
    pub(crate) fn expected(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::WaitingReason { .. } => None,
            FindingField::ImageToPin { pinned } => Some(pinned),
            FindingField::MissingCheck { expected } => Some(expected),
            FindingField::PullPolicy => self.expected_policy.map(PullPolicy::as_str),
        }
    }
}

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
    /// The image can't be parsed, or is an image ID. The text is the path of the image.
    InvalidImage(InvalidReference, String),
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
            Self::InvalidImage(..) => RuleId::InvalidImage,
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
    /// The settings ask for no added checks, or this object gets none.
    NoneWanted,
    /// The object is a pod template. Its Pods get the check.
    OnlyInPods,
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
