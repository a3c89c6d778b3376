//! The rules, in their order.
//!
//! Each rule has its own file, with its condition, its reasons, its sentences and its tests. A rule works on the
//! [`Examination`] that the rules before it have changed. No rule calls another rule.

mod disallowed_policy;
mod invalid_image;
mod missing_check;
mod preferred_policy;
mod pull_once;
mod registry;
mod stale_check;
mod stuck_pull;
mod weak_check;

use crate::examination::Examination;
use crate::lookup::Client;

/// Runs the rules.
pub(crate) fn run(examination: &mut Examination<'_>, client: &mut dyn Client) {
    // Nothing else can be said about an image that can't be read.
    invalid_image::find(examination);
    // Before the preference, because a rule for all containers of an image comes first.
    disallowed_policy::replace(examination);
    // Before the lookups, because an answer of a registry may lower a pull policy again.
    preferred_policy::raise(examination);
    // Before the checks are compared, because a pinned image is another image.
    registry::look_up(examination, client);
    if examination.request.operation.is_before_start() {
        // No later rule changes an image.
        let mut images = examination.places_by_image();
        weak_check::raise(examination, &images);
        missing_check::add(examination, &mut images);
        // After the checks were raised and added, because only a pull with `Always` spares another one.
        pull_once::lower(examination, &images);
    }
    // These rules only report, so their positions don't matter.
    stale_check::find(examination);
    stuck_pull::find(examination);
}
