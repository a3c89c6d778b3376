//! *disallowed-policy*: the pull policies that `images.requireAlways`, `images.forbidAlways` and
//! `images.forbidNever` disallow are replaced.

use crate::examination::Examination;
use crate::examination::examined_place::PullPolicyRulesForImage;
use crate::finding::{Finding, FindingEffect, FindingReason, FindingSubject};
use crate::pattern::ImagePattern;
use crate::pull_policy::PullPolicy;
use crate::rule_id::RuleId;
use crate::shown_text::TextLimit;

/// Replaces the pull policies that the settings disallow. In an existing Pod, pull policies are
/// immutable, so a disallowed pull policy is a finding without a repair. If the settings both require
/// and forbid `Always` for an image, this is a finding without a repair too.
pub(crate) fn replace_disallowed_policies(examination: &mut Examination<'_>) {
    let is_repairable = examination.object.request_type.may_change_pull_policy();
    for examined in &mut examination.places {
        let place = examined.place;
        let not_repairable =
            |reason| Finding::not_repairable(place, FindingSubject::PullPolicy, reason);
        let patterns = &examined.patterns;
        if let (Some(require), Some(forbid)) = (patterns.require_always, patterns.forbid_always) {
            let conflict = DisallowedPolicyReason::AlwaysRequiredAndForbidden { require, forbid };
            examination.findings.push(not_repairable(conflict));
        } else if let Some((allowed, reason)) = disallowed_by(patterns, examined.policy) {
            if is_repairable {
                examined.correct_policy(allowed, reason);
            } else {
                examination.findings.push(Finding {
                    expected_policy: Some(allowed),
                    ..not_repairable(reason)
                });
            }
        }
    }
}

/// The pull policy to set instead of a disallowed one, and the reason. None if the pull policy is allowed.
fn disallowed_by<'p>(
    patterns: &PullPolicyRulesForImage<'p>,
    policy: PullPolicy,
) -> Option<(PullPolicy, DisallowedPolicyReason<'p>)> {
    let (allowed, setting, pattern) = match (policy, patterns.require_always) {
        (PullPolicy::Always, None) => {
            let pattern = patterns.forbid_always;
            (PullPolicy::IfNotPresent, "images.forbidAlways", pattern)
        }
        (PullPolicy::Never, None) => {
            let pattern = patterns.forbid_never;
            (PullPolicy::IfNotPresent, "images.forbidNever", pattern)
        }
        (PullPolicy::Always, Some(_)) | (PullPolicy::IfNotPresent, None) => return None,
        (_, pattern) => (PullPolicy::Always, "images.requireAlways", pattern),
    };
    pattern.map(|pattern| {
        (
            allowed,
            DisallowedPolicyReason::DisallowedBy { setting, pattern },
        )
    })
}

/// The settings disallow the pull policy.
#[derive(Debug)]
enum DisallowedPolicyReason<'p> {
    /// One setting disallows it.
    DisallowedBy {
        /// The name of the setting.
        setting: &'static str,
        /// Its first pattern that matches the image.
        pattern: &'p ImagePattern,
    },
    /// Both settings have a pattern that matches the image.
    AlwaysRequiredAndForbidden {
        /// The pattern of `images.requireAlways`.
        require: &'p ImagePattern,
        /// The pattern of `images.forbidAlways`.
        forbid: &'p ImagePattern,
    },
}

impl FindingReason for DisallowedPolicyReason<'_> {
    fn rule(&self) -> RuleId {
        RuleId::DisallowedPolicy
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        match self {
            Self::DisallowedBy { setting, pattern } => {
                let way_out = if finding.effect == FindingEffect::Repairable {
                    finding.set_policy(limit)
                } else {
                    let allowed = finding.expected_policy_text();
                    format!("a running Pod's policy can't change, recreate it with {allowed}")
                };
                let (pulls, pattern) = (finding.pulls(limit), limit.show(pattern.as_str()));
                format!("{pulls} but {setting} has {pattern}: {way_out}")
            }
            Self::AlwaysRequiredAndForbidden { require, forbid } => {
                let (name, image) = (finding.name(limit), finding.image(limit));
                let (require, forbid) = (limit.show(require.as_str()), limit.show(forbid.as_str()));
                format!(
                    "{name} pulls {image}, but images.requireAlways has {require} and images.forbidAlways has \
                     {forbid}: take one out of the policy's settings"
                )
            }
        }
    }

    fn warns_of_repair(&self) -> bool {
        true
    }

    fn repair_warning(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let now_pulls = finding.now_pulls(limit);
        match self {
            Self::DisallowedBy { setting, .. } => format!("{now_pulls} ({setting})"),
            Self::AlwaysRequiredAndForbidden { .. } => now_pulls,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::answers_for_tests::{answer, message, pod, warnings};

    #[test]
    fn sentences() {
        let settings = json!({"mode": "Reject", "images": {"requireAlways": ["app"]}});
        assert_eq!(
            message("app a app:1 Never", &settings),
            "a pulls app:1 with Never but images.requireAlways has app: set a to Always"
        );
        let settings = json!({"images": {"requireAlways": ["app"], "forbidAlways": ["*/app"]}});
        assert_eq!(
            message("app a app:1 Never", &settings),
            "a pulls app:1, but images.requireAlways has app and images.forbidAlways has */app: take one out \
             of the policy's settings"
        );
        let settings = json!({"images": {"forbidNever": ["app"]}});
        assert_eq!(
            warnings("app a app:1 Never", &settings),
            "a now pulls app:1 with IfNotPresent instead of Never (images.forbidNever)"
        );
    }

    #[test]
    fn the_pull_policy_of_an_existing_pod_is_immutable() {
        let mut request = pod("app a app:2 Never");
        request["operation"] = json!("UPDATE");
        request["oldObject"] = pod("app a app:1 Never")["object"].take();
        let settings = json!({"images": {"forbidNever": ["app"]}});
        assert_eq!(
            answer(&request, &settings)["message"],
            "a pulls app:2 with Never but images.forbidNever has app: a running Pod's policy can't change, \
             recreate it with IfNotPresent"
        );
    }
}
