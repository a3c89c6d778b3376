//! Findings. A finding is one thing that is wrong. Its reason is a type of the rule that found it, and has the
//! sentences for people.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use crate::pod_spec::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::rule_id::RuleId;
use crate::settings::{PolicyMode, Settings};
use crate::shown_text::TextLimit;

/// The reason of a finding: what is wrong, in the words of the rule that found it.
pub(crate) trait FindingReason: fmt::Debug {
    /// The rule.
    fn rule(&self) -> RuleId;

    /// The sentence that says what is wrong and how to correct it.
    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String;

    /// Whether there is a warning about the repair. There is none if the author of the settings asked for this repair
    /// in every Pod.
    fn warns_of_repair(&self) -> bool {
        false
    }

    /// The warning about the repair.
    fn repair_warning(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        finding.now_pulls(limit)
    }

    /// Whether the same request may be accepted later.
    fn is_momentary(&self) -> bool {
        false
    }

    /// Whether a pod template needs no warning about this finding in mode `Fix`, because the operator asked for
    /// the repair in every Pod.
    fn is_expected_in_template(&self, _settings: &Settings) -> bool {
        false
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FindingSubject {
    /// The image is invalid, lacks a platform, or could not be looked up. No replacement is known.
    Image,
    /// The image gets a digest. A new pull policy because of the digest is part of this finding.
    ImageToPin {
        /// The image with its digest.
        pinned: Rc<str>,
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

/// What a finding leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindingEffect {
    /// The finding has a repair. Mode `Fix` repairs, `Reject` rejects and `Warn` warns.
    Repairable,
    /// The finding has no repair. The modes `Fix` and `Reject` reject, `Warn` warns.
    NotRepairable,
    /// Every mode warns.
    OnlyWarning,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding<'p> {
    /// The container or image volume.
    pub(crate) place: &'p Place<'p>,
    /// What is wrong.
    pub(crate) subject: FindingSubject,
    /// The pull policy that was found. None for an added check. If the place sets no pull policy, this is
    /// the server default in a finding with a repair, and None in other findings.
    pub(crate) found_policy: Option<PullPolicy>,
    /// The pull policy that should be there. None if the finding proposes no pull policy.
    pub(crate) expected_policy: Option<PullPolicy>,
    /// What it leads to.
    pub(crate) effect: FindingEffect,
    /// The reason.
    pub(crate) reason: Rc<dyn FindingReason + 'p>,
}

impl<'p> Finding<'p> {
    /// A finding without a repair.
    pub(crate) fn not_repairable(
        place: &'p Place<'p>,
        subject: FindingSubject,
        reason: impl FindingReason + 'p,
    ) -> Self {
        Self {
            place,
            subject,
            found_policy: place.policy,
            expected_policy: None,
            effect: FindingEffect::NotRepairable,
            reason: Rc::new(reason),
        }
    }

    /// The same finding. If `is_warning` is true, every mode only warns of it.
    pub(crate) fn warning_if(mut self, is_warning: bool) -> Self {
        if is_warning {
            self.effect = FindingEffect::OnlyWarning;
        }
        self
    }

    /// The rule that found it.
    pub(crate) fn rule(&self) -> RuleId {
        self.reason.rule()
    }

    /// The path of the field in the request's object. `pod_spec` is the path of the Pod spec.
    pub(crate) fn path(&self, pod_spec: &str) -> String {
        match &self.subject {
            FindingSubject::WaitingReason { path, .. } => path.clone(),
            _ => (self.place.list).path(pod_spec, self.place.index, self.spec_field()),
        }
    }

    /// The key by which the findings are sorted: the order of the Pod. Fields of the status come last.
    pub(crate) fn order(&self) -> (bool, PodSpecList, usize, &'static str) {
        let is_in_status = matches!(self.subject, FindingSubject::WaitingReason { .. });
        let (list, index) = (self.place.list, self.place.index);
        (is_in_status, list, index, self.spec_field())
    }

    const fn spec_field(&self) -> &'static str {
        let list = self.place.list;
        match self.subject {
            FindingSubject::PullPolicy => list.pull_policy_field(),
            _ => list.image_field(),
        }
    }

    /// Whether the finding rejects the request in this mode.
    pub(crate) fn rejects(&self, mode: PolicyMode) -> bool {
        match self.effect {
            FindingEffect::OnlyWarning => false,
            FindingEffect::Repairable => mode == PolicyMode::Reject,
            FindingEffect::NotRepairable => mode != PolicyMode::Warn,
        }
    }

    /// The value of the field as it was found. None for a missing check, and for a pull policy that
    /// was not set and has no repair.
    pub(crate) fn found(&self) -> Option<&str> {
        match &self.subject {
            FindingSubject::Image | FindingSubject::ImageToPin { .. } => {
                Some(self.place.image_text())
            }
            FindingSubject::MissingCheck { .. } => None,
            FindingSubject::PullPolicy => self.found_policy.map(PullPolicy::as_str),
            FindingSubject::WaitingReason { found, .. } => Some(found),
        }
    }

    /// The value that should be there. None if no value is known to be right.
    pub(crate) fn expected(&self) -> Option<&str> {
        match &self.subject {
            FindingSubject::Image | FindingSubject::WaitingReason { .. } => None,
            FindingSubject::ImageToPin { pinned } => Some(pinned),
            FindingSubject::MissingCheck { expected } => Some(expected),
            FindingSubject::PullPolicy => self.expected_policy.map(PullPolicy::as_str),
        }
    }
}

/// The parts of sentences that several rules need.
impl Finding<'_> {
    pub(crate) fn name(&self, limit: TextLimit) -> Cow<'_, str> {
        limit.show(&self.place.name)
    }

    pub(crate) fn image(&self, limit: TextLimit) -> Cow<'_, str> {
        limit.show(self.place.image_text())
    }

    pub(crate) fn found_policy_text(&self) -> &'static str {
        self.found_policy.map_or("no policy", PullPolicy::as_str)
    }

    /// Empty if the finding proposes no pull policy.
    pub(crate) fn expected_policy_text(&self) -> &'static str {
        self.expected_policy.map_or("", PullPolicy::as_str)
    }

    /// `app pulls nginx with IfNotPresent`
    pub(crate) fn pulls(&self, limit: TextLimit) -> String {
        let (name, image) = (self.name(limit), self.image(limit));
        let found = self.found_policy_text();
        format!("{name} pulls {image} with {found}")
    }

    /// `app now pulls nginx with Always instead of IfNotPresent`
    pub(crate) fn now_pulls(&self, limit: TextLimit) -> String {
        let (name, image) = (self.name(limit), self.image(limit));
        let (expected, found) = (self.expected_policy_text(), self.found_policy_text());
        format!("{name} now pulls {image} with {expected} instead of {found}")
    }

    /// `set app to Always`
    pub(crate) fn set_policy(&self, limit: TextLimit) -> String {
        let (name, expected) = (self.name(limit), self.expected_policy_text());
        format!("set {name} to {expected}")
    }
}
