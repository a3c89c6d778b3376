//! *weak-check*: the strongest check of a container's image has to be at least as strong as the
//! container.
//!
//! A check with `IfNotPresent` passes if the node has an old image in its cache. A container with
//! `Always` then asks the registry. If the registry fails, the container hangs in
//! `ImagePullBackOff`.

use super::default::stable_check_policy;
use super::missing_check;
use crate::examination::Examination;
use crate::examination::images::{PullsOfImage, checks_by_image, pulls_by_spelling};
use crate::examination::place::Spelling;
use crate::findings::{Finding, FindingField, Reason};
use crate::pull_policy::PullPolicy;

/// Raises the first check of each image whose checks are too weak. If `Always` is needed, checks that
/// `images.forbidAlways` matches are skipped. If all checks are skipped, reports the first one.
///
/// The checks of a container are the checks that are written like the container's image. If the image
/// is not covered and no check will be added, all checks of the same image count, in any spelling: a
/// check in another spelling still shows a missing image before the container starts.
pub(crate) fn raise_weak_checks(examination: &mut Examination<'_>) {
    let by_spelling = pulls_by_spelling(&examination.places);
    let mut by_image = checks_by_image(&by_spelling);
    let (written_alike, mut written_differently): (Vec<_>, Vec<_>) =
        (by_spelling.iter()).partition(|(_, pulls)| pulls.checks.first.is_some());
    let is_checked_in_another_spelling = |(spelling, pulls): &&(Spelling, PullsOfImage)| {
        let checks = by_image.get(spelling.image.0);
        !pulls.is_covered() && checks.is_some_and(|checks| checks.first.is_some())
    };
    written_differently.retain(is_checked_in_another_spelling);
    // `can_be_added` makes the missing checks. This work is left out if no check in another spelling
    // could count.
    if !written_differently.is_empty() && missing_check::can_be_added(examination) {
        written_differently.clear();
    }
    let unknown_answers = examination.answers_unknown_to_the_copy();
    let settings = examination.settings;
    for (spelling, pulls) in written_alike.into_iter().chain(written_differently) {
        let Some(checks_of_image) = by_image.get_mut(spelling.image.0) else {
            continue;
        };
        // The loop has already raised checks for their own spelling. Such a check may be strong enough
        // for the other spellings, and `checks_of_image` has its new pull policy.
        let checks = if pulls.checks.first.is_some() {
            pulls.checks
        } else {
            *checks_of_image
        };
        let (Some(first), Some((guarded, needed))) = (checks.first, pulls.guarded) else {
            continue;
        };
        let guarded = &examination[guarded];
        // If `UseCached` applies, checks that are already too weak in the request are accepted. Checks
        // that only a default made too weak are not accepted.
        let is_excused = checks.uses_cached && checks.strongest_before < Some(needed);
        let unknown_answers = unknown_answers.as_ref();
        let may_be_checked =
            unknown_answers.is_some_and(|answers| answers.may_check(&guarded.reference, needed));
        if checks.strongest >= Some(needed) || is_excused || may_be_checked {
            continue;
        }
        let name = &*guarded.place.name;
        let raised = match needed {
            PullPolicy::Always => checks.first_for_always,
            PullPolicy::IfNotPresent | PullPolicy::Never => Some(first),
        };
        if let Some(check) = raised {
            let check = &mut examination[check];
            let policy = stable_check_policy(check, needed, settings);
            let reason = Reason::StrongerContainer {
                name,
                policy: needed,
            };
            check.set_policy(policy, reason);
            checks_of_image.strongest = checks_of_image.strongest.max(Some(policy));
        } else {
            let reason = Reason::AlwaysForbiddenForCheck { name };
            let check = examination[first].place;
            let finding = Finding::unrepairable(check, FindingField::PullPolicy, reason);
            examination.findings.push(finding);
        }
    }
}
