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
use crate::request::ExaminedObject;
use crate::settings::{Mode, Settings};

/// The rules in their order, with the reason for each position.
const RULES: [fn(&mut Examination<'_>); 10] = [
    // Nothing else can be said about an image that can't be read.
    invalid_image::report,
    // Before all rules that compare pull policies: the author would have written the default.
    default::set_defaults,
    // After the default for all images, because the operator's setting for one image goes before it.
    disallowed_policy::replace_disallowed_policies,
    // After `images.requireAlways`, because a pin depends on it. Before the checks are compared, because a
    // pinned image is another image.
    registry::plan_lookups_or_use_answers,
    // After all rules that change images.
    weak_check::raise_weak_checks,
    // After the checks were raised, because only a check that is strong enough spares a pull.
    pull_once::spare_second_pulls,
    // After all rules that change images or pull policies: an added check gets the final ones.
    missing_check::add_missing_checks,
    // Once more, for the added checks.
    pull_once::spare_pulls_after_added_checks,
    // The last two only report, so their positions don't matter.
    outdated_check::report,
    stuck_pull::report,
];

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
    for rule in RULES {
        rule(examination);
    }
}
