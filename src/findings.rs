//! Findings. A finding is one thing that is wrong, with its reason. `findings/sentences.rs` has the
//! sentences for people.

pub(crate) mod failed_lookup;
pub(crate) mod reason;
pub(crate) mod sentence;
mod sentences;

use std::borrow::Cow;

use self::reason::Reason;
use crate::pod::Place;
use crate::pod::field_path::{FieldPath, FieldSortKey};
use crate::pull_policy::PullPolicy;

/// A pull policy that was found, and the one that should be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundAndExpectedPolicy {
    /// The pull policy that was found. None for an added check. If the place sets no pull policy, this
    /// is the server default in a finding with a repair, and None in other findings.
    pub(crate) found: Option<PullPolicy>,
    /// The pull policy that should be there. None if the finding proposes no pull policy.
    pub(crate) expected: Option<PullPolicy>,
}

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
        path: FieldPath,
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
    /// The pull policies of the place, or of the added check.
    pub(crate) policies: FoundAndExpectedPolicy,
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
            policies: FoundAndExpectedPolicy {
                found: place.policy,
                expected: None,
            },
            repairability: Repairability::Unrepairable,
            reason,
        }
    }

    /// The path of the field in the request's object.
    pub(crate) fn path(&self, pod_spec: &'static [&'static str]) -> FieldPath {
        match self.field {
            FindingField::WaitingReason { path, .. } => path,
            _ => FieldPath::Spec {
                pod_spec,
                list: self.place.list,
                index: self.place.index,
                field: self.spec_field(),
            },
        }
    }

    /// The key by which the findings are sorted.
    pub(crate) fn order(&self) -> FieldSortKey {
        FieldSortKey::of(self.path(&[]))
    }

    const fn spec_field(&self) -> &'static str {
        let list = self.place.list;
        match self.field {
            FindingField::PullPolicy => list.pull_policy_field(),
            _ => list.image_field(),
        }
    }

    /// The value of the field as it was found. None for a missing check, and for a pull policy that
    /// was not set and has no repair.
    pub(crate) fn found(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::ImageToPin { .. } => Some(self.place.image_text()),
            FindingField::MissingCheck { .. } => None,
            FindingField::PullPolicy => self.policies.found.map(PullPolicy::as_str),
            FindingField::WaitingReason { found, .. } => Some(found),
        }
    }

    /// The value that should be there. None if no value is known to be right.
    pub(crate) fn expected(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::WaitingReason { .. } => None,
            FindingField::ImageToPin { pinned } => Some(pinned),
            FindingField::MissingCheck { expected } => Some(expected),
            FindingField::PullPolicy => self.policies.expected.map(PullPolicy::as_str),
        }
    }
}
