//! *weak-check*: the strongest check of a container's image has to be at least as strong as the
//! container.
//!
//! A check with `IfNotPresent` passes if the node has an old image in its cache. A container with
//! `Always` then asks the registry. If the registry fails, the container hangs in
//! `ImagePullBackOff`.

use std::collections::BTreeMap;

use crate::examination::Examination;
use crate::examination::coverage::Coverage;
use crate::finding::{Finding, FindingEffect, FindingReason, FindingSubject};
use crate::pull_policy::PullPolicy;
use crate::rule_id::RuleId;
use crate::shown_text::TextLimit;

/// Raises the first check of each image whose checks are too weak. If `Always` is needed, checks that
/// `images.forbidAlways` matches are skipped. If all checks are skipped, reports the first one.
pub(crate) fn raise_weak_checks(examination: &mut Examination<'_>, coverage: &mut Coverage) {
    // A raised check may be strong enough for other containers too: those of another spelling, so checks that are
    // written alike come first, and in the copy those of another digest. The rest is the order of the containers.
    let mut images = BTreeMap::new();
    for (index, pulled) in coverage.images.iter().enumerate() {
        if let Some(first) = pulled.guarded_places.first() {
            images.insert((pulled.checks.places.is_empty(), *first), index);
        }
    }
    for index in images.into_values() {
        if let Some((check, policy)) = raise_weak_check(examination, coverage, index) {
            coverage.raise(check, policy);
        }
    }
}

/// Raises the first check of an image, if its checks are too weak. Returns the check and its new pull policy.
fn raise_weak_check(
    examination: &mut Examination<'_>,
    coverage: &Coverage,
    image: usize,
) -> Option<(usize, PullPolicy)> {
    let pulled = coverage.images.get(image)?;
    let (guarded, needed) = pulled.guarded?;
    let checks = &coverage.checks_of(pulled)?.places;
    let places = &mut examination.places;
    let first = places.get(*checks.first()?)?.place;
    let reason = WeakCheckReason {
        stronger: &places.get(guarded)?.place.name,
        policy: needed,
    };
    if coverage.has_strong_check(pulled, needed) {
        return None;
    }
    let can_be_raised = |check: &&usize| {
        let check = places.get(**check);
        needed < PullPolicy::Always
            || check.is_some_and(|check| check.patterns.forbid_always.is_none())
    };
    let Some(index) = checks.iter().find(can_be_raised) else {
        let finding = Finding::not_repairable(first, FindingSubject::PullPolicy, reason);
        examination.findings.push(finding);
        return None;
    };
    let check = places.get_mut(*index)?;
    // The new pull policy counts as not chosen if it equals the server default. So it gets the default at once, and
    // not only in the next run.
    let default = check.replacement_of_server_default(needed, examination.settings);
    let policy = default.unwrap_or(needed).max(needed);
    check.correct_policy(policy, reason);
    Some((*index, policy))
}

/// A container or image volume has a stronger pull policy than its checks.
#[derive(Debug)]
struct WeakCheckReason<'p> {
    /// The name of the container or image volume.
    stronger: &'p str,
    /// Its pull policy.
    policy: PullPolicy,
}

impl FindingReason for WeakCheckReason<'_> {
    fn rule(&self) -> RuleId {
        RuleId::WeakCheck
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let stronger = limit.show(self.stronger);
        if finding.effect == FindingEffect::Repairable {
            let (pulls, way_out) = (finding.pulls(limit), finding.set_policy(limit));
            let policy = self.policy.as_str();
            return format!("{pulls} but {stronger} pulls it with {policy}: {way_out}");
        }
        // `images.forbidAlways` matches all checks, so none of them can be raised to `Always`.
        let (name, image) = (finding.name(limit), finding.image(limit));
        format!(
            "{name} may not pull {image} with Always (images.forbidAlways), but {stronger} does: \
             set {stronger} to IfNotPresent"
        )
    }

    fn warns_of_repair(&self) -> bool {
        true
    }

    fn repair_warning(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let (now_pulls, stronger) = (finding.now_pulls(limit), limit.show(self.stronger));
        format!("{now_pulls}, as {stronger} needs")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::answers_for_tests::{message, warnings};

    #[test]
    fn sentences() {
        let places = "init imagecheck-0 app:1 IfNotPresent, app a app:1 Always";
        assert_eq!(
            message(places, &json!({"mode": "Reject"})),
            "imagecheck-0 pulls app:1 with IfNotPresent but a pulls it with Always: set imagecheck-0 to Always"
        );
        assert_eq!(
            warnings(places, &json!({})),
            "imagecheck-0 now pulls app:1 with Always instead of IfNotPresent, as a needs"
        );
        let digest = format!("@sha256:{}", "a".repeat(64));
        let places = format!("init imagecheck-0 app:1{digest} Never, app a app:2{digest} Always");
        let sentence = message(&places, &json!({"images": {"forbidAlways": ["app:1"]}}));
        assert_eq!(
            sentence.replace(&digest, ""),
            "imagecheck-0 may not pull app:1 with Always (images.forbidAlways), but a does: set a to IfNotPresent"
        );
    }
}
