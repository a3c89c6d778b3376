//! Finds out whether an object is rejected whatever the registries answer. In this case, no lookups
//! are made. A finding that an answer may remove doesn't make the rejection certain.

use crate::examination::Examination;
use crate::examination::place::ExaminedPlace;
use crate::examination::possibly_same_images::PossiblySameImages;
use crate::findings::{Finding, Repairability, RuleId};
use crate::image::Reference;
use crate::pull_policy::PullPolicy;
use crate::settings::{LookupMode, Mode};

/// Whether the object is rejected, whatever the registries answer. A pin or `UseCached` can remove
/// a finding of *default* or *weak-check*. A digest can show that two references name the same
/// image. This can remove a finding of *default*, *weak-check* or *missing-check*. False in mode `Warn`,
/// and in an audit with mode `Reject`.
pub(crate) fn is_rejected_whatever_registries_answer(
    examination: &Examination<'_>,
    mode: Mode,
) -> bool {
    // With mode `Reject`, an audit makes all lookups, so that it reports all findings.
    let is_audit = mode == Mode::Reject && examination.object.names_no_user;
    if mode == Mode::Warn || is_audit {
        return false;
    }
    let possibly_same_images = PossiblySameImages::about(&examination.places);
    let stays = |rule, reference: &Reference<'_>| {
        stays(examination, &possibly_same_images, rule, reference)
    };
    let finding_stays = |finding: &Finding<'_>| {
        finding.repairability == Repairability::Unrepairable
            && Reference::parse(finding.place.image_text())
                .map_or(true, |reference| stays(finding.reason.rule(), &reference))
    };
    let repair_stays = |examined: &ExaminedPlace<'_>| {
        examined.digest.pinned_digest().is_some()
            || rule_of_repair(examined).is_some_and(|rule| stays(rule, &examined.reference))
    };
    let added_stays = || {
        examination.added.checks.iter().any(|check| {
            let guarded = &examination[check.guarded];
            stays(RuleId::MissingCheck, &guarded.reference)
        })
    };
    examination.findings.iter().any(finding_stays)
        || (mode == Mode::Reject && (examination.places.iter().any(repair_stays) || added_stays()))
}

/// The rule that repairs the pull policy of a place. None if the pull policy has no finding.
fn rule_of_repair(examined: &ExaminedPlace<'_>) -> Option<RuleId> {
    let rule = examined.policy_finding()?.rule();
    // *default* may have replaced an allowed `Always` with a forbidden `Never`. Then the finding is one
    // of *disallowed-policy*. If a registry's answer keeps *default* from acting, this finding doesn't
    // arise. So the finding counts as one of *default* here.
    let is_default =
        examined.policy_before() == PullPolicy::Always && examined.limits.forbid_always.is_none();
    Some(match rule {
        RuleId::DisallowedPolicy if is_default => RuleId::Default,
        rule => rule,
    })
}

/// Whether no registry's answer can remove a finding of this rule about this image.
fn stays(
    examination: &Examination<'_>,
    possibly_same_images: &PossiblySameImages<'_>,
    rule: RuleId,
    reference: &Reference<'_>,
) -> bool {
    match rule {
        RuleId::Default | RuleId::WeakCheck => {
            let lookup = examination.settings.registry.for_image(reference);
            let changes_policy = lookup.mode == LookupMode::Pin || lookup.may_use_cached();
            !(possibly_same_images.may_join(reference)
                || (changes_policy && possibly_same_images.concern(reference)))
        }
        RuleId::MissingCheck => !possibly_same_images.may_join(reference),
        _ => true,
    }
}
