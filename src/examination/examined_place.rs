//! A place as the rules see it: its role, the image and the pull policy that it should have, and the patterns of
//! `images` that match its image.

use std::rc::Rc;

use super::role::Role;
use crate::finding::{Finding, FindingEffect, FindingReason, FindingSubject};
use crate::image::{ImageIdentity, Reference};
use crate::pattern::{ImageNamesForPatterns, ImagePattern};
use crate::pod_spec::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::rule_id::RuleId;
use crate::settings::{
    DefaultPullPolicy, ImagePullPolicyRules, LookupSettingsForImage, Settings, VerifyOrPin,
};

/// A container or image volume that the rules examine. Its image reference could be parsed.
pub(crate) struct ExaminedPlace<'p> {
    /// The container or image volume as it came in.
    pub(crate) place: &'p Place<'p>,
    /// Its role in the Pod.
    pub(crate) role: Role,
    /// Its image as it came in.
    pub(crate) reference: Reference<'p>,
    /// The patterns of `images` that match its image.
    pub(crate) patterns: PullPolicyRulesForImage<'p>,
    /// The settings of `registry` for its image.
    pub(crate) lookup: LookupSettingsForImage<'p>,
    /// The pull policy that it should have. Before the first rule runs, this is the pull policy that
    /// came in, or the server default if none was set.
    pub(crate) policy: PullPolicy,
    /// Why `policy` differs from the pull policy that came in. None if it doesn't.
    cause: Option<PullPolicyChangeCause<'p>>,
    /// The digest behind its tag, if it is known.
    pub(crate) digest_of_tag: Option<Rc<str>>,
    /// The image with its digest, if the digest is to be written, and the reason.
    pin: Option<(Rc<str>, Rc<dyn FindingReason + 'p>)>,
}

/// Why a rule changes a pull policy.
#[derive(Clone)]
pub(crate) enum PullPolicyChangeCause<'p> {
    /// The pull policy is wrong. This is a finding.
    Wrong(Rc<dyn FindingReason + 'p>),
    /// The rule replaces a pull policy that is not wrong. This is no finding of its own.
    NotWrong(RuleId),
}

impl PullPolicyChangeCause<'_> {
    /// The rule that changes the pull policy.
    pub(crate) fn rule(&self) -> RuleId {
        match self {
            Self::Wrong(reason) => reason.rule(),
            Self::NotWrong(rule) => *rule,
        }
    }
}

impl<'p> ExaminedPlace<'p> {
    /// A place as it came in.
    pub(crate) fn new(
        place: &'p Place<'p>,
        role: Role,
        reference: Reference<'p>,
        settings: &'p Settings,
    ) -> Self {
        let server_default = server_default(&reference);
        Self {
            place,
            role,
            reference,
            patterns: PullPolicyRulesForImage::of(&settings.images, &reference),
            lookup: settings.registry.for_image(&reference),
            policy: place.policy.unwrap_or(server_default),
            cause: None,
            digest_of_tag: None,
            pin: None,
        }
    }

    /// The pull policy that came in, or the server default if none was set.
    pub(crate) fn policy_before(&self) -> PullPolicy {
        let server_default = || server_default(&self.reference);
        self.place.policy.unwrap_or_else(server_default)
    }

    /// Replaces a wrong pull policy.
    pub(crate) fn correct_policy(&mut self, policy: PullPolicy, reason: impl FindingReason + 'p) {
        self.change_policy(policy, PullPolicyChangeCause::Wrong(Rc::new(reason)));
    }

    /// Changes the pull policy. If an earlier rule has changed it already, its cause stays: the pull policy that
    /// came in is wrong for that cause.
    pub(crate) fn change_policy(&mut self, policy: PullPolicy, cause: PullPolicyChangeCause<'p>) {
        self.policy = policy;
        let is_changed = policy != self.policy_before();
        self.cause = is_changed.then(|| self.cause.take().unwrap_or(cause));
    }

    /// The new pull policy and the rule that chose it. None if the pull policy stays.
    pub(crate) fn policy_change(&self) -> Option<(PullPolicy, RuleId)> {
        self.cause.as_ref().map(|cause| (self.policy, cause.rule()))
    }

    /// Writes the digest behind the tag into the image. A pinned image keeps its tag, and gets `latest` if it has
    /// none: people read the tag, and patterns match it.
    pub(crate) fn pin(&mut self, digest: &Rc<str>, reason: &Rc<dyn FindingReason + 'p>) {
        let image = self.image();
        let tag = if self.reference.tag().is_none() {
            ":latest"
        } else {
            ""
        };
        let pinned = [image, tag, "@", digest].concat();
        self.pin = Some((pinned.into(), Rc::clone(reason)));
        self.digest_of_tag = Some(Rc::clone(digest));
    }

    /// The image with its digest, if a rule has pinned it.
    pub(crate) fn pinned_image(&self) -> Option<&Rc<str>> {
        self.pin.as_ref().map(|(image, _)| image)
    }

    /// The findings about the image and the pull policy that came in.
    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding<'p>> + use<'_, 'p> {
        let finding = |subject, reason: &Rc<dyn FindingReason + 'p>| Finding {
            place: self.place,
            subject,
            found_policy: Some(self.policy_before()),
            expected_policy: Some(self.policy),
            effect: FindingEffect::Repairable,
            reason: Rc::clone(reason),
        };
        let tag = self.pin.as_ref().map(|(pinned, reason)| {
            let pinned = pinned.clone();
            finding(FindingSubject::ImageToPin { pinned }, reason)
        });
        let policy = match &self.cause {
            Some(PullPolicyChangeCause::Wrong(reason)) => {
                Some(finding(FindingSubject::PullPolicy, reason))
            }
            _ => None,
        };
        tag.into_iter().chain(policy)
    }

    /// Whether it is an init container that ends before the app containers start. A check volume is none:
    /// another webhook may drop the volume's `image`, and then nothing is pulled.
    pub(crate) fn is_init_container(&self) -> bool {
        matches!(self.role, Role::ImageCheck | Role::InitContainer)
            && self.place.list == PodSpecList::InitContainers
    }

    /// The configured default that replaces a pull policy of this place. None if the pull policy differs from the
    /// server default, or if the default leaves the place alone.
    pub(crate) fn replacement_of_server_default(
        &self,
        policy: PullPolicy,
        settings: &Settings,
    ) -> Option<PullPolicy> {
        if policy != server_default(&self.reference) || self.reference.is_image_id() {
            return None;
        }
        let has_digest = self.has_digest();
        let (default, applies) = match settings.defaults.image_pull_policy? {
            DefaultPullPolicy::AlwaysUnlessDigest if has_digest => return None,
            // Under `Pin`, an image with a digest has `IfNotPresent`, also in the next run.
            DefaultPullPolicy::Always | DefaultPullPolicy::AlwaysUnlessDigest => {
                let is_pinned = has_digest && self.lookup.mode == VerifyOrPin::Pin;
                (
                    PullPolicy::Always,
                    self.patterns.forbid_always.is_none() && !is_pinned,
                )
            }
            // An image that is looked up keeps its `Always`: an answer may show that another image is the same.
            DefaultPullPolicy::IfNotPresent => {
                let may_be_lowered = self.patterns.require_always.is_none() && !has_digest;
                (
                    PullPolicy::IfNotPresent,
                    may_be_lowered && !self.is_selected_for_lookup(),
                )
            }
        };
        (applies && default != policy).then_some(default)
    }

    /// The image as it came in.
    pub(crate) fn image(&self) -> &'p str {
        self.place.image_text()
    }

    /// The image as it should be.
    pub(crate) fn image_after(&self) -> &str {
        self.pinned_image().map_or(self.image(), |image| image)
    }

    /// The identity that decides whether two places pull the same image. A tag and a digest are
    /// the same image if the tag is known to have this digest.
    pub(crate) fn identity(&self) -> ImageIdentity<'_> {
        match &self.digest_of_tag {
            Some(digest) => self.reference.identity_at(Some(digest)),
            None => self.reference.identity(),
        }
    }

    /// Whether its image has a digest, as it came in or after it was pinned.
    pub(crate) fn has_digest(&self) -> bool {
        self.pin.is_some() || self.reference.digest().is_some()
    }

    /// Whether the settings select its image for lookups.
    pub(crate) fn is_selected_for_lookup(&self) -> bool {
        self.lookup.mode != VerifyOrPin::Off
    }
}

/// The pull policy that the API server fills in for an image.
fn server_default(reference: &Reference<'_>) -> PullPolicy {
    PullPolicy::server_default(reference.tag(), reference.digest())
}

/// For each setting of `images`, the first of its patterns that matches an image.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PullPolicyRulesForImage<'p> {
    /// The pattern of `images.requireAlways`.
    pub(crate) require_always: Option<&'p ImagePattern>,
    /// The pattern of `images.forbidAlways`.
    pub(crate) forbid_always: Option<&'p ImagePattern>,
    /// The pattern of `images.forbidNever`.
    pub(crate) forbid_never: Option<&'p ImagePattern>,
}

impl<'p> PullPolicyRulesForImage<'p> {
    fn of(images: &'p ImagePullPolicyRules, reference: &Reference<'_>) -> Self {
        if *images == ImagePullPolicyRules::default() {
            return Self::default();
        }
        let names = ImageNamesForPatterns::of(reference);
        let first = |patterns: &'p [ImagePattern]| patterns.iter().find(|one| one.matches(&names));
        Self {
            require_always: first(&images.require_always),
            forbid_always: first(&images.forbid_always),
            forbid_never: first(&images.forbid_never),
        }
    }
}
