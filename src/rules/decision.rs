//! What becomes of findings.

use super::settled::RegistryAsked;
use super::{Problem, Rule, Work};
use crate::image::Reference;
use crate::pull_policy::PullPolicy;
use crate::request::Review;
use crate::settings::{LookupMode, Mode, PodTemplateAction, Settings};

/// What becomes of the findings of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// What can be repaired is repaired, the rest rejects the request.
    Repair,
    /// Each one rejects the request.
    Reject,
    /// Each one is a warning.
    Warn,
}

impl Decision {
    /// What the settings say for this event; none where they turn it off.
    #[must_use]
    pub fn of(review: &Review<'_>, settings: &Settings) -> Option<Self> {
        match (review.event.is_template(), settings.templates) {
            (true, PodTemplateAction::Off) => return None,
            (true, PodTemplateAction::Warn) => return Some(Self::Warn),
            (true, PodTemplateAction::Enforce) | (false, _) => {}
        }
        Some(match settings.mode {
            Mode::Fix => Self::Repair,
            Mode::Reject => Self::Reject,
            Mode::Warn => Self::Warn,
        })
    }

    /// Whether the request is rejected for what was found.
    #[must_use]
    pub fn rejects(self, work: &Work<'_>) -> bool {
        let unrepairable = || work.problems.iter().any(|problem| !problem.advice);
        match self {
            Self::Warn => false,
            Self::Repair => unrepairable(),
            Self::Reject => unrepairable() || work.has_repairs(),
        }
    }

    /// Whether the request is rejected whatever a registry says. Its answers can take a finding
    /// back: a pin or `UseCached` that of a default, a digest that makes two images one that of a
    /// check.
    pub(super) fn rejects_anyway(self, without_registry: &Work<'_>) -> bool {
        if !self.rejects(without_registry) {
            return false;
        }
        let asked = RegistryAsked::of(&without_registry.entries);
        let stays = |rule: Rule, reference: &Reference<'_>| match rule {
            Rule::Default | Rule::WeakCheck => {
                let lookup = without_registry.settings.registry.for_image(reference);
                let changes = lookup.mode == LookupMode::Pin || lookup.may_use_cached();
                !(asked.may_join(reference) || (changes && asked.concerns(reference)))
            }
            Rule::MissingCheck => !asked.may_join(reference),
            _ => true,
        };
        let problem_stays = |problem: &Problem<'_>| {
            !problem.advice
                && Reference::parse(problem.place.image_text())
                    .map_or(true, |reference| stays(problem.cause.rule(), &reference))
        };
        let entries = &without_registry.entries;
        let repair_stays = || {
            entries.iter().any(|entry| {
                let finding = entry.policy_finding();
                // A default of `Never` that is forbidden is a default all the same.
                let is_default =
                    entry.policy_before() == PullPolicy::Always && entry.forbid_always.is_none();
                let rule = finding.map(|cause| match cause.rule() {
                    Rule::DisallowedPolicy if is_default => Rule::Default,
                    rule => rule,
                });
                entry.pinned || rule.is_some_and(|rule| stays(rule, &entry.reference))
            }) || without_registry.added.iter().any(|check| {
                let guarded = entries.get(check.guarded);
                guarded.is_some_and(|entry| stays(Rule::MissingCheck, &entry.reference))
            })
        };
        without_registry.problems.iter().any(problem_stays)
            || (self == Self::Reject && repair_stays())
    }
}
