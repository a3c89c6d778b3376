//! Findings. A finding is one thing that is wrong.

use std::fmt;

use super::place::Place;
use super::rule::Rule;
use crate::image::PullPolicy;

/// Why a rule has a finding, in sentences for people. `place` is the container or image volume of
/// the finding.
pub(crate) trait Reason: fmt::Debug {
    /// What is wrong. `image` is the image of the place, as it stands in the object that the
    /// sentence is about.
    fn problem(&self, place: &Place<'_>, image: &str) -> String;

    /// What a person can do about it.
    fn help(&self, place: &Place<'_>) -> String;

    /// The warning about the repair. None if the repair needs no warning, e.g. a pinned tag, or if
    /// there is none.
    fn repaired(&self, _place: &Place<'_>) -> Option<String> {
        None
    }

    /// Whether the same request may be accepted later.
    fn is_momentary(&self) -> bool {
        false
    }
}

/// What a finding is about, with the value that should be there. None if no image or pull policy is
/// known to be right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The image of the place.
    Image(Option<String>),
    /// The image check that the image of the place needs.
    Check(String),
    /// The pull policy of the place.
    PullPolicy(Option<PullPolicy>),
}

/// What a finding leads to. Mode `Warn` always warns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// `Fix` repairs, `Reject` rejects. The repair is the new value of the subject, or an added
    /// check.
    Repairable,
    /// `Fix` and `Reject` reject. A pod template is only warned of, unless `podTemplates` is `Reject`.
    NotRepairable,
    /// In a pod template, an image is not found. `Fix` and `Reject` do what `podTemplates` says.
    NotFound {
        /// Whether the Pods would be rejected. If not, they would be created and wait.
        rejects_pods: bool,
    },
    /// Every mode warns.
    OnlyWarning,
}

/// One thing that is wrong.
#[derive(Debug)]
pub(crate) struct Finding<'o> {
    pub(crate) place: usize,
    pub(crate) rule: Rule,
    pub(crate) subject: Subject,
    pub(crate) effect: Effect,
    pub(crate) reason: Box<dyn Reason + 'o>,
}

/// What the rules found, in the order of the rules.
#[derive(Debug, Default)]
pub(crate) struct Findings<'o>(pub(crate) Vec<Finding<'o>>);

impl<'o> Findings<'o> {
    /// Adds a finding about the place with this index.
    pub(crate) fn add(
        &mut self,
        place: usize,
        rule: Rule,
        subject: Subject,
        effect: Effect,
        reason: impl Reason + 'o,
    ) {
        self.0.push(Finding {
            place,
            rule,
            subject,
            effect,
            reason: Box::new(reason),
        });
    }
}

impl Finding<'_> {
    /// Whether the finding still counts after all rules have run. A finding about a repaired pull
    /// policy counts only if `changed_by` is its rule. It is not if a later rule undid the change, or
    /// if an earlier rule had changed the value.
    pub(crate) fn counts(&self, place: &Place<'_>) -> bool {
        let is_repaired = self.effect == Effect::Repairable;
        let is_about_policy = matches!(self.subject, Subject::PullPolicy(_));
        !(is_repaired && is_about_policy) || place.policy.changed_by == Some(self.rule)
    }
}
