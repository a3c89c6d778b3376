//! Findings. A finding is one thing that is wrong.

use std::fmt;
use std::rc::Rc;

use serde::Serialize;

use super::place::Place;

/// The id of a rule, in annotations and in the documentation. The order is that of importance: the findings of the first
/// rule come first in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    InvalidImage,
    StuckPull,
    DisallowedPolicy,
    Registry,
    WeakCheck,
    MissingCheck,
    Default,
    StaleCheck,
    PullOnce,
}

/// Why a rule has a finding, in sentences for people. `place` is the container or image volume of the finding.
pub(crate) trait Reason: fmt::Debug {
    /// The rule.
    fn rule(&self) -> Rule;

    /// What is wrong.
    fn problem(&self, place: &Place<'_>) -> String;

    /// What a person can do about it.
    fn help(&self, place: &Place<'_>) -> String;

    /// The warning about the repair. None if the author of the settings asked for this repair in every Pod.
    fn repaired(&self, _place: &Place<'_>) -> Option<String> {
        None
    }

    /// Whether the same request may be accepted later.
    fn is_momentary(&self) -> bool {
        false
    }
}

/// The field that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The image of the place.
    Image,
    /// The pull policy of the place.
    PullPolicy,
    /// A field of the status, with its path.
    Status(String),
}

/// What a finding leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The finding has a repair. Mode `Fix` repairs, `Reject` rejects and `Warn` warns.
    Repairable,
    /// The finding has no repair. The modes `Fix` and `Reject` reject, `Warn` warns.
    NotRepairable,
    /// Every mode warns.
    OnlyWarning,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding<'o> {
    /// The index of the place.
    pub(crate) place: usize,
    /// The field.
    pub(crate) subject: Subject,
    /// The value that is there, as a sentence shows it.
    pub(crate) found: Option<String>,
    /// The value that should be there. None if no value is known to be right.
    pub(crate) expected: Option<String>,
    /// What it leads to.
    pub(crate) effect: Effect,
    /// The reason.
    pub(crate) reason: Rc<dyn Reason + 'o>,
}

impl<'o> Finding<'o> {
    /// A finding without a repair, about the image of a place.
    pub(crate) fn about_image(
        index: usize,
        place: &Place<'o>,
        reason: Rc<dyn Reason + 'o>,
    ) -> Self {
        Self {
            place: index,
            subject: Subject::Image,
            found: Some(place.shown_image().into_owned()),
            expected: None,
            effect: Effect::NotRepairable,
            reason,
        }
    }

    /// A finding without a repair, about the pull policy of a place.
    pub(crate) fn about_policy(
        index: usize,
        place: &Place<'o>,
        reason: Rc<dyn Reason + 'o>,
    ) -> Self {
        let found = place.sets_policy.then(|| place.policy.before.as_str().to_owned());
        Self { subject: Subject::PullPolicy, found, ..Self::about_image(index, place, reason) }
    }

    /// The same finding. If `is_warning` is true, every mode only warns of it.
    pub(crate) fn warning_if(self, is_warning: bool) -> Self {
        let effect = if is_warning { Effect::OnlyWarning } else { self.effect };
        Self { effect, ..self }
    }
}
