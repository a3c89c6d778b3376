//! The rules, in their order.
//!
//! Each rule has its own file. A rule works on the [`Examination`] that the rules before it have
//! changed. No rule runs another rule. Only *missing-check* knows JSON: it copies fields of a check.

pub(crate) mod default;
pub(crate) mod disallowed_policy;
pub(crate) mod invalid_image;
pub(crate) mod missing_check;
pub(crate) mod outdated_check;
pub(crate) mod pull_once;
pub(crate) mod registry;
pub(crate) mod stuck_pull;
pub(crate) mod weak_check;

use crate::examination::Examination;
use crate::lookup::{RegistryLookups, look_up};
use crate::outcome::Outcome;
use crate::request::{ExaminedObject, RequestType};
use crate::settings::{
    ImagePullPolicyRules, MissingCheckAction, Mode, PullPolicyDefaults, Settings,
};

/// The condition for a rule, and the rule. Most objects need few rules.
type ConditionAndRule = (fn(&Examination<'_>) -> bool, fn(&mut Examination<'_>));

/// The rules in their order, with the reason for each position.
const RULES: [ConditionAndRule; 10] = [
    // Nothing else can be said about an image that can't be read.
    (has_invalid_images, invalid_image::report),
    // Before all rules that compare pull policies: the author would have written the default.
    (has_defaults, default::set_defaults),
    // After the default for all images, because the operator's setting for one image goes before it.
    (has_limits, disallowed_policy::replace_disallowed_policies),
    // After `images.requireAlways`, because a pin depends on it. Before the checks are compared, because a
    // pinned image is another image.
    (has_lookups, registry::plan_lookups_or_use_answers),
    // After all rules that change images.
    (has_checks_to_compare, weak_check::raise_weak_checks),
    // After the checks were raised, because only a check that is strong enough spares a pull.
    (has_checks_to_compare, pull_once::spare_second_pulls),
    // After all rules that change images or pull policies: an added check gets the final ones.
    (has_images_to_cover, missing_check::add_missing_checks),
    // Once more, for the added checks.
    (has_added_checks, pull_once::spare_second_pulls),
    // The last two only report, so their positions don't matter.
    (is_pod_update, outdated_check::report),
    (may_have_waiting_containers, stuck_pull::report),
];

fn has_invalid_images(examination: &Examination<'_>) -> bool {
    !examination.invalid_images.is_empty()
}

/// Whether defaults are set, and the pull policies can still change.
fn has_defaults(examination: &Examination<'_>) -> bool {
    examination.settings.defaults != PullPolicyDefaults::default()
        && examination.object.request_type.may_change_pull_policy()
}

/// Whether pull policies are required or forbidden for some images.
fn has_limits(examination: &Examination<'_>) -> bool {
    examination.settings.images != ImagePullPolicyRules::default()
}

/// Whether this installation asks registries. The copy asks none.
fn has_lookups(examination: &Examination<'_>) -> bool {
    let registry = &examination.settings.registry;
    registry.looks_up() && !registry.accepts_unknown_answers()
}

/// Whether the Pod hasn't started yet and has image checks.
fn has_checks_to_compare(examination: &Examination<'_>) -> bool {
    examination.object.request_type.is_before_start() && examination.has_image_checks()
}

/// Whether the images of a Pod that hasn't started yet have to be covered.
fn has_images_to_cover(examination: &Examination<'_>) -> bool {
    let checks = &examination.settings.image_checks;
    checks.coverage != MissingCheckAction::Off
        && examination.object.request_type.is_before_start()
        && (checks.every_pod || examination.has_image_checks())
}

fn has_added_checks(examination: &Examination<'_>) -> bool {
    !examination.added.checks.is_empty()
}

fn is_pod_update(examination: &Examination<'_>) -> bool {
    examination.object.request_type == RequestType::PodUpdate
}

/// Whether this may be an audit, which sends an existing Pod as a CREATE request. Mode `Fix` is silent,
/// because it doesn't change a container that waits.
fn may_have_waiting_containers(examination: &Examination<'_>) -> bool {
    examination.object.request_type == RequestType::PodCreate
        && examination.settings.mode != Mode::Fix
}

/// Runs the rules, and returns the outcome for the object.
///
/// The rules first run without the answers of registries. If there are images to look up, registries
/// are asked, unless the object is certain to be rejected. (In an audit with mode `Reject`, registries are
/// asked even then.) After registries were asked, the rules run once more, with the answers.
pub(crate) fn examine<'p>(
    object: &'p ExaminedObject<'p>,
    settings: &'p Settings,
    mode: Mode,
    registries: &mut dyn RegistryLookups,
) -> Outcome<'p> {
    let mut examination = Examination::new(object, settings, None);
    run(&mut examination);
    let lookups = std::mem::take(&mut examination.lookups);
    if !lookups.is_empty() && !registry::is_rejected_whatever_registries_answer(&examination, mode)
    {
        let images = lookups.iter().map(|lookup| &lookup.image);
        let answers = look_up(images, settings.registry.max_lookups, registries);
        let answered = lookups.into_iter().zip(answers).collect();
        examination = Examination::new(object, settings, Some(answered));
        run(&mut examination);
    }
    Outcome::of(examination)
}

fn run(examination: &mut Examination<'_>) {
    for (is_needed, rule) in RULES {
        if is_needed(examination) {
            rule(examination);
        }
    }
}
