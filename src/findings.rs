//! Findings. A finding is one thing that is wrong, with its reason. `findings/sentences.rs` has the
//! sentences for people.

pub(crate) mod failed_lookup;
pub(crate) mod reason;
mod sentences;

use std::borrow::Cow;

use self::reason::Reason;
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
