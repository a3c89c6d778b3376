//! *disallowed-policy*: the pull policies that `images.requireAlways`, `images.forbidAlways` and
//! `images.forbidNever` disallow are replaced.

use crate::examination::Examination;
use crate::examination::finding::{Finding, FindingField, FindingReason, FindingSubject, RuleId};
use crate::examination::pull_policy_limits::DisallowingSetting;
use crate::pattern::ImagePattern;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};

/// Replaces the pull policies that the settings disallow. In an existing Pod, pull policies are
/// immutable, so a disallowed pull policy is a finding without a repair. If the settings both require
/// and forbid `Always` for an image, this is a finding without a repair too.
pub fn replace_disallowed_policies(examination: &mut Examination<'_>) {
    let is_repairable = examination.review.request_type.may_change_pull_policy();
    for examined in &mut examination.places {
        let place = examined.place;
        let limits = examined.limits;
        if let (Some(require), Some(forbid)) = (limits.require_always, limits.forbid_always) {
            let conflict = AlwaysRequiredAndForbidden { require, forbid };
            let finding = Finding::unrepairable(place, FindingField::PullPolicy, conflict);
            examination.findings.push(finding);
        } else if let Some((expected, disallowed)) = limits.violated_by(examined.policy) {
            if is_repairable {
                examined.set_policy(expected, disallowed);
            } else {
                let reason = ImmutablePolicy(disallowed);
                let mut finding = Finding::unrepairable(place, FindingField::PullPolicy, reason);
                finding.policies.expected = Some(expected);
                examination.findings.push(finding);
            }
        }
    }
}

/// A setting disallows a pull policy in an existing Pod, where pull policies are immutable.
#[derive(Clone, Copy, Debug)]
struct ImmutablePolicy<'p>(DisallowingSetting<'p>);

impl FindingReason for ImmutablePolicy<'_> {
    fn rule(&self) -> RuleId {
        RuleId::DisallowedPolicy
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        let way_out = sentence!(
            "a running Pod's policy can't change, recreate it with ",
            subject.expected()
        );
        self.0.sentence_with(subject, way_out)
    }
}

/// A pattern of `images.requireAlways` and a pattern of `images.forbidAlways` match the image.
#[derive(Clone, Copy, Debug)]
struct AlwaysRequiredAndForbidden<'p> {
    require: &'p ImagePattern,
    forbid: &'p ImagePattern,
}

impl FindingReason for AlwaysRequiredAndForbidden<'_> {
    fn rule(&self) -> RuleId {
        RuleId::DisallowedPolicy
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        sentence!(
            subject.name,
            " pulls ",
            subject.image,
            ", but images.requireAlways has ",
            UntrustedText(self.require.as_str()),
            " and images.forbidAlways has ",
            UntrustedText(self.forbid.as_str()),
            ": take one out of the policy's settings"
        )
    }
}
