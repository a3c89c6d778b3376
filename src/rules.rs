//! The rules: in their order, and at which requests each of them runs.
//!
//! Each rule has its own file, with its id, its condition and its sentences. A rule works on the
//! [`Pod`] that the rules before it have changed. No rule calls another rule.

mod disallowed_policy;
mod invalid_image;
mod missing_check;
mod pull_once;
mod registry;
mod stale_check;
mod weak_check;

use crate::entry::Entry;
use crate::lookup::Client;
use crate::pod::Pod;
use crate::request::Operation;

/// Runs the rules, and returns what they did: the most important rule comes first. At the UPDATE of a
/// Pod, only *stale-check* sees what the request doesn't change.
pub fn run<'o>(pod: &mut Pod<'o>, client: &mut dyn Client) -> Vec<Entry<'o>> {
    // Before all others, because a container that gets its stored image back doesn't change.
    let restored = registry::restore(pod);
    if !pod.is_needed() {
        return restored;
    }
    let mut entries = Vec::new();
    // Nothing else can be said about an image that can't be read.
    invalid_image::report(pod, &mut entries);
    // Before the lookups, because an answer of a registry may lower a pull policy again.
    disallowed_policy::replace(pod, &mut entries);
    entries.extend(restored);
    let mut lookups = registry::look_up(pod, &mut entries, client);
    if pod.request.operation.is_before_start() {
        // No later rule changes an image.
        let mut images = pod.by_image();
        weak_check::raise(pod, &mut entries, &images);
        missing_check::add(pod, &mut entries, &mut images);
        // After the checks were raised and added, because only a pull with `Always` spares another.
        pull_once::lower(pod, &mut entries, &images);
    }
    if pod.request.operation != Operation::EphemeralUpdate {
        stale_check::report(pod, &mut entries);
    }
    // The entries of a rule are in the order of the Pod.
    for of_rule in entries.chunk_by_mut(|one, other| one.rule == other.rule) {
        of_rule.sort_by_key(Entry::position);
    }
    entries.append(&mut lookups);
    entries
}
