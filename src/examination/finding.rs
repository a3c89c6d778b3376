//! A finding: one thing that is wrong, with the rule that found it and a sentence for people.

use std::borrow::Cow;
use std::fmt::Debug;
use std::rc::Rc;

use crate::pod::ContainerOrVolume;
use crate::pod::field_path::{FieldPath, FieldSortKey};
use crate::pull_policy::PullPolicy;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};

/// The ids of the rules. The rule with the most important findings comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleId {
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
    pub const ALL: [Self; 9] = [
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
    #[must_use]
    pub const fn as_str(self) -> &'static str {
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

/// The reason why a field changes or is wrong. Each reason belongs to one rule, and writes its own
/// sentences.
pub trait FindingReason: Debug {
    /// The rule that this reason belongs to.
    fn rule(&self) -> RuleId;

    /// The sentence that says what is wrong and how to correct it.
    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, room: SentenceLength) -> Sentence<'s>;

    /// The warning about the repair. None if no warning is needed. Defaults and pins need none,
    /// because the author of the settings asked for these changes. `UseCached` needs none, because the
    /// failed lookup has its own warning.
    fn repair_warning<'s>(&'s self, _subject: &FindingSubject<'s>) -> Option<Sentence<'s>> {
        None
    }

    /// Whether the same request may be accepted later. True for a failed lookup, unless the image
    /// doesn't exist or `registry.maxLookups` was reached.
    fn is_momentary(&self) -> bool {
        false
    }

    /// Whether a field that changes for this reason was wrong. A change that only saves a pull is no
    /// finding. A change that is part of another finding is no second finding.
    fn is_finding(&self) -> bool {
        true
    }
}

/// The container or image volume of a finding, with the texts for the finding's sentences.
#[derive(Clone, Copy, Debug)]
pub struct FindingSubject<'f> {
    /// The path of the field.
    pub path: UntrustedText<'f>,
    /// The name of the container or image volume.
    pub name: UntrustedText<'f>,
    /// Its image in the request.
    pub image: UntrustedText<'f>,
    /// The pull policies of the finding.
    pub policies: FoundAndExpectedPolicy,
}

/// A pull policy that was found, and the one that should be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundAndExpectedPolicy {
    /// The pull policy that was found. None for an added check. If the place sets no pull policy, this
    /// is the server default in a finding with a repair, and None in other findings.
    pub found: Option<PullPolicy>,
    /// The pull policy that should be there. None if the finding proposes no pull policy.
    pub expected: Option<PullPolicy>,
}

impl<'f> FindingSubject<'f> {
    /// The pull policy that was found, or the words `no policy`.
    #[must_use]
    pub fn found(&self) -> Sentence<'f> {
        let found = self.policies.found;
        found.map_or("no policy", PullPolicy::as_str).into()
    }

    /// The pull policy that should be there. Empty if the finding proposes none.
    #[must_use]
    pub fn expected(&self) -> Sentence<'f> {
        let expected = self.policies.expected;
        expected.map_or("", PullPolicy::as_str).into()
    }

    /// `container-0 pulls nginx with Always`
    #[must_use]
    pub fn pulls(&self) -> Sentence<'f> {
        sentence!(self.name, " pulls ", self.image, " with ", self.found())
    }

    /// `set container-0 to Always`
    #[must_use]
    pub fn way_out(&self) -> Sentence<'f> {
        sentence!("set ", self.name, " to ", self.expected())
    }

    /// `container-0 now pulls nginx with IfNotPresent instead of Always`
    #[must_use]
    pub fn now_pulls(&self) -> Sentence<'f> {
        sentence!(
            self.name,
            " now pulls ",
            self.image,
            " with ",
            self.expected(),
            " instead of ",
            self.found()
        )
    }
}

/// The field that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingField {
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
pub enum Repairability {
    /// The finding has a repair.
    Repairable,
    /// The finding has no repair.
    Unrepairable,
    /// The finding leads at most to a warning, and never rejects the request.
    Advice,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Finding<'p> {
    /// The container or image volume.
    pub place: &'p ContainerOrVolume<'p>,
    /// The field.
    pub field: FindingField,
    /// The pull policies of the place, or of the added check.
    pub policies: FoundAndExpectedPolicy,
    /// The effect.
    pub effect: Repairability,
    /// The reason.
    pub reason: Rc<dyn FindingReason + 'p>,
}

impl<'p> Finding<'p> {
    /// A finding without a repair. The caller may turn it into advice.
    pub fn unrepairable(
        place: &'p ContainerOrVolume<'p>,
        field: FindingField,
        reason: impl FindingReason + 'p,
    ) -> Self {
        Self {
            place,
            field,
            policies: FoundAndExpectedPolicy {
                found: place.policy,
                expected: None,
            },
            effect: Repairability::Unrepairable,
            reason: Rc::new(reason),
        }
    }

    /// The path of the field in the request's object.
    #[must_use]
    pub fn path(&self, pod_spec: &'static [&'static str]) -> FieldPath {
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
    #[must_use]
    pub fn order(&self) -> FieldSortKey {
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
    #[must_use]
    pub fn found(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::ImageToPin { .. } => Some(self.place.image_text()),
            FindingField::MissingCheck { .. } => None,
            FindingField::PullPolicy => self.policies.found.map(PullPolicy::as_str),
            FindingField::WaitingReason { found, .. } => Some(found),
        }
    }

    /// The value that should be there. None if no value is known to be right.
    #[must_use]
    pub fn expected(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::WaitingReason { .. } => None,
            FindingField::ImageToPin { pinned } => Some(pinned),
            FindingField::MissingCheck { expected } => Some(expected),
            FindingField::PullPolicy => self.policies.expected.map(PullPolicy::as_str),
        }
    }
}
