//! Findings: one thing that is wrong, the rule that found it, and the sentence for people.

use std::borrow::Cow;
use std::fmt::Debug;
use std::rc::Rc;

use crate::pod::ContainerOrVolume;
use crate::pod::field_path::{FieldPath, FieldSortKey};
use crate::pull_policy::PullPolicy;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};

/// The rules by their ids. The rule with the most important findings comes first.
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
    /// `src/rules/pull_once.rs`
    PullOnce,
    /// `src/rules/replace_check.rs`
    ReplaceCheck,
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
        Self::PullOnce,
        Self::ReplaceCheck,
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
            Self::PullOnce => "pull-once",
            Self::ReplaceCheck => "replace-check",
        }
    }
}

/// The reason why a field has to change or is wrong. Each rule has its own reasons, with their
/// sentences.
pub trait FindingReason: Debug {
    /// The rule.
    fn rule(&self) -> RuleId;

    /// The sentence that says what is wrong, and the way out.
    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, room: SentenceLength) -> Sentence<'s>;

    /// The warning about the repair. None if no warning is needed. Defaults and pins need none,
    /// because the operator asked for them everywhere.
    fn repair_warning<'s>(&'s self, _subject: &FindingSubject<'s>) -> Option<Sentence<'s>> {
        None
    }

    /// Whether the same request may be accepted later. This is so if the reason is a temporary
    /// answer of a registry.
    fn is_momentary(&self) -> bool {
        false
    }

    /// Whether a field that changes for this reason was wrong. A change that only saves work is no
    /// finding. A change that belongs to another finding is no finding of its own.
    fn is_finding(&self) -> bool {
        true
    }
}

/// The container or image volume of a finding, as its sentences show it.
#[derive(Clone, Copy, Debug)]
pub struct FindingSubject<'f> {
    /// The path of the field.
    pub path: UntrustedText<'f>,
    /// The name of the container or image volume.
    pub name: UntrustedText<'f>,
    /// Its image as it came in.
    pub image: UntrustedText<'f>,
    /// Its pull policies.
    pub policies: FoundAndExpectedPolicy,
}

/// A pull policy that was found, and the one that should be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundAndExpectedPolicy {
    /// The pull policy that was found. None if none was set.
    pub found: Option<PullPolicy>,
    /// The pull policy that should be there, if one can be named.
    pub expected: Option<PullPolicy>,
}

impl<'f> FindingSubject<'f> {
    /// The pull policy that was found.
    #[must_use]
    pub fn found(&self) -> Sentence<'f> {
        let found = self.policies.found;
        found.map_or("no policy", PullPolicy::as_str).into()
    }

    /// The pull policy that should be there.
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
    /// The image is wrong, and no other image is known that could replace it.
    Image,
    /// The image gets a digest. The pull policy that goes with it belongs to this finding.
    ImageToPin {
        /// The image with its digest.
        pinned: String,
    },
    /// The image has no image check.
    MissingCheck {
        /// The check that should be there.
        expected: Cow<'static, str>,
    },
    /// The pull policy.
    PullPolicy,
    /// A reason in the status of a waiting container.
    WaitingReason {
        /// The path of the reason.
        path: FieldPath,
        /// The reason. It is one of those that *stuck-pull* reports.
        found: &'static str,
    },
}

/// The effect that a finding has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairability {
    /// It has a repair.
    Repairable,
    /// It has no repair.
    Unrepairable,
    /// It is worth a warning, and never rejects.
    Advice,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Finding<'p> {
    /// The container or image volume.
    pub place: &'p ContainerOrVolume<'p>,
    /// The field.
    pub field: FindingField,
    /// The pull policies of the place.
    pub policies: FoundAndExpectedPolicy,
    /// The effect.
    pub effect: Repairability,
    /// The reason.
    pub reason: Rc<dyn FindingReason + 'p>,
}

impl<'p> Finding<'p> {
    /// A finding without a repair.
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

    /// The path of the field in the object that came in.
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

    /// The position of the finding among the others.
    #[must_use]
    pub fn order(&self) -> FieldSortKey {
        let (list, index) = (self.place.list, self.place.index);
        match self.field {
            FindingField::WaitingReason { .. } => {
                FieldSortKey::in_status(list, index, self.spec_field())
            }
            _ => FieldSortKey::in_spec(list, index, self.spec_field()),
        }
    }

    const fn spec_field(&self) -> &'static str {
        let list = self.place.list;
        match self.field {
            FindingField::PullPolicy => list.pull_policy_field(),
            _ => list.image_field(),
        }
    }

    /// The value of the field as it was found.
    #[must_use]
    pub fn found(&self) -> Option<&str> {
        match &self.field {
            FindingField::Image | FindingField::ImageToPin { .. } => Some(self.place.image_text()),
            FindingField::MissingCheck { .. } => None,
            FindingField::PullPolicy => self.policies.found.map(PullPolicy::as_str),
            FindingField::WaitingReason { found, .. } => Some(found),
        }
    }

    /// The value that should be there, if one can be named.
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
