//! The pull policies that `images.requireAlways`, `images.forbidAlways` and `images.forbidNever`
//! allow for an image.

use super::finding::{FindingReason, FindingSubject, RuleId};
use crate::image::Reference;
use crate::pattern::{ImagePattern, first_match};
use crate::pull_policy::PullPolicy;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};
use crate::settings::ImagePullPolicyRules;

/// The settings of `images` that match one image, each with its first matching pattern.
#[derive(Clone, Copy, Debug)]
pub struct PullPolicyLimits<'p> {
    /// The pattern of `images.requireAlways`.
    pub require_always: Option<&'p ImagePattern>,
    /// The pattern of `images.forbidAlways`.
    pub forbid_always: Option<&'p ImagePattern>,
    /// The pattern of `images.forbidNever`.
    pub forbid_never: Option<&'p ImagePattern>,
}

impl<'p> PullPolicyLimits<'p> {
    /// The limits of an image.
    #[must_use]
    pub fn of(images: &'p ImagePullPolicyRules, reference: &Reference<'_>) -> Self {
        Self {
            require_always: first_match(&images.require_always, reference),
            forbid_always: first_match(&images.forbid_always, reference),
            forbid_never: first_match(&images.forbid_never, reference),
        }
    }

    /// The setting that forbids a pull policy: `images.forbidAlways` or `images.forbidNever`.
    #[must_use]
    pub fn forbidding(&self, policy: PullPolicy) -> Option<DisallowingSetting<'p>> {
        match policy {
            PullPolicy::Always => self.forbid_always.map(DisallowingSetting::ForbidAlways),
            PullPolicy::Never => self.forbid_never.map(DisallowingSetting::ForbidNever),
            PullPolicy::IfNotPresent => None,
        }
    }

    /// The pull policy to set instead of a disallowed one, and the setting that disallows it.
    /// `requireAlways` has priority. None if the pull policy is allowed.
    #[must_use]
    pub fn violated_by(&self, policy: PullPolicy) -> Option<(PullPolicy, DisallowingSetting<'p>)> {
        match self.require_always {
            Some(_) if policy == PullPolicy::Always => None,
            Some(require) => Some((
                PullPolicy::Always,
                DisallowingSetting::RequireAlways(require),
            )),
            None => {
                let forbidding = self.forbidding(policy)?;
                Some((PullPolicy::IfNotPresent, forbidding))
            }
        }
    }

    /// The allowed pull policy that is nearest to `policy` in strength. If `requireAlways` and
    /// `forbidAlways` contradict each other, neither of them counts.
    #[must_use]
    pub fn clamp(&self, policy: PullPolicy) -> PullPolicy {
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

/// The setting that disallows a pull policy, with its pattern.
#[derive(Clone, Copy, Debug)]
pub enum DisallowingSetting<'p> {
    /// `images.requireAlways`
    RequireAlways(&'p ImagePattern),
    /// `images.forbidAlways`
    ForbidAlways(&'p ImagePattern),
    /// `images.forbidNever`
    ForbidNever(&'p ImagePattern),
}

impl<'p> DisallowingSetting<'p> {
    const fn setting(self) -> (&'static str, &'p ImagePattern) {
        match self {
            Self::RequireAlways(pattern) => ("images.requireAlways", pattern),
            Self::ForbidAlways(pattern) => ("images.forbidAlways", pattern),
            Self::ForbidNever(pattern) => ("images.forbidNever", pattern),
        }
    }

    /// The sentence about this setting, with a way out.
    #[must_use]
    pub fn sentence_with<'s>(
        self,
        subject: &FindingSubject<'s>,
        way_out: Sentence<'s>,
    ) -> Sentence<'s>
    where
        'p: 's,
    {
        let (setting, pattern) = self.setting();
        sentence!(
            subject.pulls(),
            " but ",
            setting,
            " has ",
            UntrustedText(pattern.as_str()),
            ": ",
            way_out
        )
    }
}

impl FindingReason for DisallowingSetting<'_> {
    fn rule(&self) -> RuleId {
        RuleId::DisallowedPolicy
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        self.sentence_with(subject, subject.way_out())
    }

    fn repair_warning<'s>(&'s self, subject: &FindingSubject<'s>) -> Option<Sentence<'s>> {
        let (setting, _) = self.setting();
        Some(sentence!(subject.now_pulls(), " (", setting, ")"))
    }
}
