//! *disallowed-policy*: the pull policies that `images.requireAlways`, `images.forbidAlways` and
//! `images.forbidNever` disallow are replaced.

use crate::examination::Examination;
use crate::findings::{Finding, FindingField, Reason};

/// Replaces the pull policies that the settings disallow. In an existing Pod, pull policies are
/// immutable, so a disallowed pull policy is a finding without a repair. If the settings both require
/// and forbid `Always` for an image, this is a finding without a repair too.
pub(crate) fn replace_disallowed_policies(examination: &mut Examination<'_>) {
    let is_repairable = examination.object.request_type.may_change_pull_policy();
    for examined in &mut examination.places {
        let place = examined.place;
        let limits = examined.limits;
        if let (Some(require), Some(forbid)) = (limits.require_always, limits.forbid_always) {
            let conflict = Reason::AlwaysRequiredAndForbidden { require, forbid };
            let finding = Finding::unrepairable(place, FindingField::PullPolicy, conflict);
            examination.findings.push(finding);
        } else if let Some((expected, disallowed)) = limits.violated_by(examined.policy) {
            if is_repairable {
                examined.set_policy(expected, Reason::DisallowedPolicy(disallowed));
            } else {
                let reason = Reason::ImmutablePolicy(disallowed);
                let mut finding = Finding::unrepairable(place, FindingField::PullPolicy, reason);
                finding.expected_policy = Some(expected);
                examination.findings.push(finding);
            }
        }
    }
}
