//! The rules: in their order, and at which requests each of them runs.
//!
//! Each rule has its own file, with its condition, its reasons and its sentences. A rule works on
//! the [`Examination`] that the rules before it have changed. No rule calls another rule.

mod disallowed_policy;
mod invalid_image;
mod missing_check;
mod pull_once;
mod registry;
mod stale_check;
mod weak_check;

use crate::examination::Examination;
use crate::lookup::Client;
use crate::request::Operation;

/// Runs the rules. At UPDATE, only *stale-check* sees what the request doesn't change.
pub(crate) fn run(examination: &mut Examination<'_>, client: &mut dyn Client) {
    let operation = examination.request.operation;
    // Before all others, because a container that gets its stored image back doesn't change.
    registry::restore(examination);
    if !examination.is_needed() {
        return;
    }
    // Nothing else can be said about an image that can't be read.
    invalid_image::report(examination);
    // Before the lookups, because an answer of a registry may lower a pull policy again.
    disallowed_policy::replace(examination);
    registry::look_up(examination, client);
    if operation.is_before_start() {
        // No later rule changes an image.
        let images = examination.places_by_image();
        weak_check::raise(examination, &images);
        missing_check::add(examination, &images);
        // After the checks were raised and added, because only a pull with `Always` spares another.
        pull_once::lower(examination, &images);
    }
    if operation != Operation::EphemeralUpdate {
        stale_check::report(examination);
    }
}
