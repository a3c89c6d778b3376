//! The pull policies that `images.requireAlways`, `images.forbidAlways` and `images.forbidNever`
//! allow for an image.

use crate::findings::reason::DisallowingSetting;
use crate::image::Reference;
use crate::pattern::{ImagePattern, first_match};
use crate::pull_policy::PullPolicy;
use crate::settings::ImagePullPolicyRules;

/// The settings of `images` that match one image, each with its first matching pattern.
#[derive(Clone, Copy, Debug)]
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
        Self {
            require_always: first_match(&images.require_always, reference),
            forbid_always: first_match(&images.forbid_always, reference),
            forbid_never: first_match(&images.forbid_never, reference),
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
