//! The rules: in their order, and at which requests each of them runs.
//!
//! Each rule has its own file or folder, with its id, its condition and its sentences. A rule works on the
//! [`Pod`] that the rules before it have changed. No rule calls another rule.

mod disallowed_policy;
mod invalid_image;
mod missing_check;
mod pull_once;
mod registry;
mod stale_check;
mod weak_check;

use std::mem;

use crate::lookup::Client;
use crate::pod::{Entry, Pod};
use crate::request::Operation;

/// Runs the rules. What they did is in the Pod then: the most important rule comes first. At the
/// UPDATE of a Pod, only *stale-check* sees what the request doesn't change.
pub fn run(pod: &mut Pod, client: &mut Client) {
    // Before all others, because a container that gets its stored image back doesn't change.
    registry::restore(pod);
    if !pod.is_needed() {
        return;
    }
    let restored = mem::take(&mut pod.entries);
    // Nothing else can be said about an image that can't be read.
    invalid_image::report(pod);
    // Before the lookups, because an answer of a registry may lower a pull policy again.
    disallowed_policy::replace(pod);
    pod.entries.extend(restored);
    let lookups = registry::look_up(pod, client);
    if pod.request.operation.is_before_start() {
        // No later rule changes an image.
        let mut images = pod.by_image();
        weak_check::raise(pod, &images);
        missing_check::add(pod, &mut images);
        // After the checks were raised and added, because only a pull with `Always` spares another.
        pull_once::lower(pod, &images);
    }
    if pod.request.operation != Operation::EphemeralUpdate {
        stale_check::report(pod);
    }
    // The entries of a rule are in the order of the Pod.
    for of_rule in pod
        .entries
        .chunk_by_mut(|one, other| one.rule == other.rule)
    {
        of_rule.sort_by_key(Entry::position);
    }
    pod.entries.extend(lookups);
}
