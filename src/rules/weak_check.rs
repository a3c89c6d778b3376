//! *weak-check*: the strongest check of a container's image has to be at least as strong as the
//! container.
//!
//! A check with `IfNotPresent` passes if the node has an old image in its cache. A container with
//! `Always` then asks the registry. If the registry fails, the container hangs in
//! `ImagePullBackOff`.

use super::configured_default::stable_check_policy;
use super::missing_check;
use crate::examination::Examination;
use crate::examination::images::PullsOfSpelling;
use crate::findings::reason::Reason;
use crate::findings::{Finding, FindingField};
use crate::pull_policy::PullPolicy;

/// Raises the first check of each image whose checks are too weak. If `Always` is needed, checks that
/// `images.forbidAlways` matches are skipped. If all checks are skipped, reports the first one.
///
/// The checks of a container are the checks that are written like the container's image. If the image
/// is not covered and no check will be added, all checks of the same image count, in any spelling: a
/// check in another spelling still shows a missing image before the container starts.
pub(crate) fn raise_weak_checks(examination: &mut Examination<'_>) {
    if !examination.compares_checks() {
        return;
    }
    let images = examination.image_groups();
    let by_spelling = images.pulls(&examination.places);
    let mut by_image = images.checks(&by_spelling);
    let has_own_check = |pulls: &&PullsOfSpelling| pulls.checks.first.is_some();
    let written_alike = by_spelling.iter().filter(has_own_check);
    let is_checked_in_another_spelling = |pulls: &&PullsOfSpelling| {
        let checks = by_image.get(pulls.image);
        !pulls.is_covered() && checks.is_some_and(|checks| checks.first.is_some())
    };
    let mut written_differently: Vec<&PullsOfSpelling> = by_spelling
        .iter()
        .filter(is_checked_in_another_spelling)
        .collect();
    // `can_be_added` adds up the sizes of the missing checks. This work is left out if no check in
    // another spelling could count.
    if !written_differently.is_empty() && missing_check::can_be_added(examination) {
        written_differently.clear();
    }
    let unknown_answers = examination.answers_unknown_to_the_copy();
    for pulls in written_alike.chain(written_differently) {
        let Some(checks_of_image) = by_image.get_mut(pulls.image) else {
            continue;
        };
        // The loop has already raised checks for their own spelling. Such a check may be strong enough
        // for the other spellings, and `checks_of_image` has its new pull policy.
        let checks = if has_own_check(&pulls) {
            pulls.checks
        } else {
            *checks_of_image
        };
        let (Some(first), Some((guarded, needed))) = (checks.first, pulls.guarded) else {
            continue;
        };
        let Some(guarded) = examination.places.get(guarded) else {
            continue;
        };
        // If `UseCached` applies, checks that are already too weak in the request are accepted. Checks
        // that only a default made too weak are not accepted.
        let is_excused = checks.uses_cached && checks.strongest_before < Some(needed);
        if checks.strongest >= Some(needed)
            || is_excused
            || unknown_answers.may_check(&guarded.reference, needed)
        {
            continue;
        }
        let name = &*guarded.place.name;
        let raised = match needed {
            PullPolicy::Always => checks.first_for_always,
            PullPolicy::IfNotPresent | PullPolicy::Never => Some(first),
        };
        match raised.and_then(|check| examination.places.get_mut(check)) {
            Some(check) => {
                let policy = stable_check_policy(check, needed, examination.settings);
                let reason = Reason::StrongerContainer {
                    name,
                    policy: needed,
                };
                check.set_policy(policy, reason);
                checks_of_image.strongest = checks_of_image.strongest.max(Some(policy));
            }
            None => {
                if let Some(check) = examination.places.get(first) {
                    let reason = Reason::AlwaysForbiddenForCheck { name };
                    let finding =
                        Finding::unrepairable(check.place, FindingField::PullPolicy, reason);
                    examination.findings.push(finding);
                }
            }
        }
    }
}
