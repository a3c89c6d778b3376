//! The rules, in their order.
//!
//! Each rule has its own file, with its condition, its reasons and its sentences. A rule works on the
//! [`Examination`] that the rules before it have changed. No rule calls another rule.

#[cfg(test)]
mod answers_for_tests;
mod default;
mod disallowed_policy;
mod invalid_image;
mod missing_check;
mod outdated_check;
mod pull_once;
mod registry;
mod stuck_pull;
mod weak_check;

use crate::examination::Examination;
use crate::examination::coverage::Coverage;
use crate::lookup::RegistryClient;

/// Runs the rules.
pub(crate) fn run(examination: &mut Examination<'_>, registries: &mut dyn RegistryClient) {
    // Nothing else can be said about an image that can't be read.
    invalid_image::report(examination);
    // Before the default: a pull policy that is replaced here may equal the server default.
    disallowed_policy::replace_disallowed_policies(examination);
    // Before the lookups, because an answer of a registry may lower a pull policy again.
    default::replace_server_defaults(examination);
    // Before the checks are compared, because a digest shows which images are the same.
    registry::look_up_images(examination, registries);
    if has_checks_or_needs_them(examination) {
        let mut coverage = Coverage::of(examination);
        weak_check::raise_weak_checks(examination, &mut coverage);
        missing_check::add_missing_checks(examination, &coverage);
        // After the checks were raised and added, because only a check that is strong enough spares a pull.
        pull_once::spare_second_pulls(examination, &mut coverage);
    }
    // These rules only report, so their positions don't matter.
    outdated_check::report(examination);
    stuck_pull::report(examination);
}

/// Whether the Pod hasn't started yet, and has image checks or may have to get them.
fn has_checks_or_needs_them(examination: &Examination<'_>) -> bool {
    examination.object.request_type.is_before_start()
        && (examination.settings.image_checks.every_pod || examination.has_image_checks())
}
